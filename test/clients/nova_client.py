"""Drives python-novaclient through the life of a server. Arguments: microversion, and `full` for every call."""
import os
import sys

from keystoneauth1 import session
from keystoneauth1.identity import v3
from novaclient import api_versions, client, exceptions

from steps import IS_FULL, gone, tell, until

auth = v3.Password(
    auth_url=os.environ['OS_AUTH_URL'],
    username=os.environ['OS_USERNAME'],
    password=os.environ['OS_PASSWORD'],
    project_name=os.environ['OS_PROJECT_NAME'],
    user_domain_id='default',
    project_domain_id='default',
)
access = {'session': session.Session(auth=auth), 'region_name': 'RegionOne'}
# What the command `nova` does with the microversion it is given.
version = api_versions.discover_version(
    client.Client('2.1', **access), api_versions.APIVersion(sys.argv[1]))
nova = client.Client(version, **access)
flavors = {flavor.name: flavor for flavor in nova.flavors.list()}
image = nova.glance.find_image('tiny')
network = nova.neutron.find_network('private')
seen = {'version': version.get_string(), 'states': []}


def show():
    return nova.servers.get(server.id)


def act(call, wanted, /, *args, **kwargs):
    getattr(nova.servers, call)(server, *args, **kwargs)
    seen['states'].append([call, until(show, wanted).status])


nova.keypairs.create('nova-key', public_key=os.environ['PUBLIC_KEY'])
server = nova.servers.create(
    'nova-1', image, flavors['m1.tiny'], key_name='nova-key', meta={'a': 'b'},
    nics=[{'net-id': network.id}])
seen['password'] = server.adminPass
server = until(show, 'ACTIVE')
seen['shown'] = server.to_dict()
seen['listed'] = [each.name for each in nova.servers.list(search_opts={'name': 'nova-1', 'status': 'ACTIVE'})]
act('stop', 'SHUTOFF')
act('start', 'ACTIVE')

if IS_FULL:
    act('reboot', 'ACTIVE', 'SOFT')
    act('reboot', 'ACTIVE', 'HARD')
    act('pause', 'PAUSED')
    act('unpause', 'ACTIVE')
    act('suspend', 'SUSPENDED')
    act('resume', 'ACTIVE')
    act('resize', 'VERIFY_RESIZE', flavors['m1.small'])
    act('revert_resize', 'ACTIVE')
    act('resize', 'VERIFY_RESIZE', flavors['m1.small'])
    act('confirm_resize', 'ACTIVE')
    act('rebuild', 'ACTIVE', image, name='nova-2')
    act('rescue', 'RESCUE')
    act('unrescue', 'ACTIVE')
    act('shelve', 'SHELVED_OFFLOADED')
    act('unshelve', 'ACTIVE')
    act('lock', 'ACTIVE')
    act('unlock', 'ACTIVE')
    act('change_password', 'ACTIVE', 'sesame')
    act('update', 'ACTIVE', name='nova-3')
    nova.servers.set_meta(server, {'c': 'd'})
    nova.servers.delete_meta(server, ['a'])
    seen['changed'] = show().to_dict()
    added = nova.servers.interface_attach(server, None, network.id, None)
    seen['ports'] = sorted(each.port_state for each in nova.servers.interface_list(server))
    nova.servers.interface_detach(server, added.port_id)
    nova.servers.remove_security_group(server, 'default')
    nova.servers.add_security_group(server, 'default')
    seen['groups'] = [each.name for each in nova.servers.list_security_group(server)]
    seen['console'] = nova.servers.get_console_output(server, length=1)
    seen['actions'] = [each.action for each in nova.instance_action.list(server)]
    seen['zones'] = [each.zoneName for each in nova.availability_zones.list(detailed=False)]
    seen['limits'] = {each.name: each.value for each in nova.limits.get().absolute}
    seen['quota'] = nova.quotas.get(server.tenant_id).to_dict()
    seen['keys'] = [each.name for each in nova.keypairs.list()]
    if version >= api_versions.APIVersion('2.26'):
        nova.servers.set_tags(server, ['blue', 'red'])
        nova.servers.delete_tag(server, 'red')
        seen['tags'] = nova.servers.tag_list(server)
    policies = {'policy': 'anti-affinity'} if version >= api_versions.APIVersion('2.64') \
        else {'policies': ['anti-affinity']}
    group = nova.server_groups.create('nova-group', **policies)
    seen['group'] = nova.server_groups.get(group.id).to_dict()
    nova.server_groups.delete(group.id)

snapshot = nova.servers.create_image(server, 'nova-snap')
seen['snapshot'] = until(lambda: nova.glance.find_image(snapshot), 'active').name
nova.servers.delete(server)
seen['gone'] = gone(show, exceptions.NotFound)
nova.keypairs.delete('nova-key')
tell(seen)
