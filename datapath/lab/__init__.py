"""Real kernels to ask: namespaces on the running one, Linux 6.1 as a process."""
