"""Real traffic through a node that balances services as kube-proxy's iptables rules do, recorded with what the kernel said."""
