"""Makes a routed network with python-neutronclient, and asks what Horizon's network topology asks. Its user is a member."""
import os

from keystoneauth1 import session
from keystoneauth1.identity import v3
from neutronclient.common import exceptions
from neutronclient.v2_0 import client

from steps import tell

auth = v3.Password(
    auth_url=os.environ['OS_AUTH_URL'],
    username=os.environ['OS_USERNAME'],
    password=os.environ['OS_PASSWORD'],
    project_name=os.environ['OS_PROJECT_NAME'],
    user_domain_id='default',
    project_domain_id='default',
)
user = session.Session(auth=auth)
neutron = client.Client(session=user, region_name='RegionOne')
project = user.get_project_id()


def network(name):
    return neutron.list_networks(name=name)['networks'][0]['id']


def names(listed):
    return sorted(each['name'] for each in listed)


inner = neutron.create_network({'network': {'name': 'inner'}})['network']
subnet = neutron.create_subnet({'subnet': {
    'network_id': inner['id'], 'ip_version': 4, 'cidr': '10.60.0.0/24', 'name': 'inner-4'}})['subnet']
router = neutron.create_router({'router': {
    'name': 'edge', 'external_gateway_info': {'network_id': network('public')}}})['router']
neutron.add_interface_router(router['id'], {'subnet_id': subnet['id']})

# openstack_dashboard.dashboards.project.network_topology and openstack_dashboard.api.neutron ask these.
ports = neutron.list_ports(tenant_id=project)['ports']
shown = neutron.list_routers(tenant_id=project)['routers']
seen = {
    'extensions': sorted(each['alias'] for each in neutron.list_extensions()['extensions']),
    'own': names(neutron.list_networks(tenant_id=project, shared=False)['networks']),
    'shared': names(neutron.list_networks(shared=True)['networks']),
    'external': names(neutron.list_networks(**{'router:external': True})['networks']),
    'subnets': names(neutron.list_subnets(network_id=[inner['id']])['subnets']),
    'routers': [(each['name'], each['status'], bool(each['external_gateway_info'])) for each in shown],
    'interfaces': [
        (each['network_id'] == inner['id'], each['device_id'] == router['id'])
        for each in ports if each['device_owner'] == 'network:router_interface'],
    'gateways': len(neutron.list_ports(device_owner='network:router_gateway', device_id=router['id'])['ports']),
    'floating': len(neutron.list_floatingips(tenant_id=project)['floatingips']),
    'quota': sorted(neutron.show_quota(project)['quota']),
    'on_inner': len(neutron.list_ports(network_id=inner['id'], fields=['id', 'fixed_ips'])['ports']),
}

try:
    neutron.delete_network(inner['id'])
except exceptions.NetworkInUseClient as error:
    seen['in_use'] = type(error).__name__
neutron.remove_interface_router(router['id'], {'subnet_id': subnet['id']})
neutron.delete_router(router['id'])
neutron.delete_network(inner['id'])
seen['left'] = len(neutron.list_networks(tenant_id=project, shared=False, name='inner')['networks'])
tell(seen)
