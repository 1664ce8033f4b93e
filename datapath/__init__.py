"""The Linux packet datapath in user space.

from datapath import Datapath, Host
node = Datapath(Host.load("host/"))
transit = node.receive(frame, interface="eth0", now_ns=0)
"""

from datapath.engine.datapath import Datapath
from datapath.engine.host import Host
from datapath.engine.transit import Transit
from datapath.errors import DatapathError
from datapath.model.verdicts import Outcome

__all__ = ["Datapath", "DatapathError", "Host", "Outcome", "Transit"]
