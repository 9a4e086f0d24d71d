"""What cloud-init takes from the metadata service at the address that is given, as JSON."""

import json
import sys

from cloudinit.helpers import Paths
from cloudinit.sources.DataSourceOpenStack import DataSourceOpenStack
from cloudinit.sources.helpers import ec2

address = sys.argv[1]
settings = {"datasource": {"OpenStack": {"metadata_urls": [address], "max_wait": 10}}}
source = DataSourceOpenStack(settings, None, Paths({"cloud_dir": sys.argv[2], "run_dir": sys.argv[2]}))
assert source.wait_for_metadata_service()
found = source._crawl_metadata()
source.metadata = found["metadata"]
amazons = ec2.get_instance_metadata("latest", metadata_address=address)
print(
    json.dumps(
        {
            "instance": source.get_instance_id(),
            "hostname": source.metadata["hostname"],
            "keys": source.get_public_ssh_keys(),
            "userdata": found["userdata"].decode(),
            "links": found["networkdata"]["links"],
            "amazons": {
                "hostname": amazons["hostname"],
                "key": amazons["public-keys"]["alice"],
                "userdata": ec2.get_instance_userdata("latest", metadata_address=address).decode(),
            },
        }
    )
)
