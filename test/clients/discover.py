"""Prints what keystoneauth finds out about the compute service at OS_AUTH_URL, as JSON."""
import json
import os

from keystoneauth1 import discover, session
from keystoneauth1.identity import v3

auth = v3.Password(
    auth_url=os.environ["OS_AUTH_URL"],
    username=os.environ["OS_USERNAME"],
    password=os.environ["OS_PASSWORD"],
    project_name=os.environ["OS_PROJECT_NAME"],
    user_domain_id="default",
    project_domain_id="default",
)
keystone = session.Session(auth=auth)
compute = {"service_type": "compute", "interface": "public"}


def found(**wanted):
    data = keystone.get_endpoint_data(**compute, **wanted)
    if data is None:
        return None
    return {
        "url": data.url,
        "version": data.api_version,
        "min": data.min_microversion,
        "max": data.max_microversion,
    }


listed = discover.Discover(session.Session(), os.environ["COMPUTE_ROOT"])
newest = ".".join(map(str, found(min_version="2", max_version="2.latest")["max"]))
answer = keystone.get("/servers", endpoint_filter=compute, microversion=newest)

print(
    json.dumps(
        {
            "any": found(),
            "major": found(min_version="2", max_version="2.latest"),
            "exact": found(min_version="2.1", max_version="2.1"),
            "newer": found(min_version="3", max_version="3.latest"),
            "listed": [
                {"version": version["version"], "url": version["url"], "status": version["raw_status"]}
                for version in listed.version_data()
            ],
            "used": answer.headers["OpenStack-API-Version"],
        }
    )
)
