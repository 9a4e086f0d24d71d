"""Drives openstacksdk through the life of a server. Argument: `full` for every call."""
import os

import openstack
from openstack import exceptions

from steps import IS_FULL, gone, tell, until

cloud = openstack.connect()
compute = cloud.compute
image = compute.find_image('tiny')
network = cloud.network.find_network('private')
tiny = compute.find_flavor('m1.tiny')
small = compute.find_flavor('m1.small')
seen = {'states': []}


def show():
    return compute.get_server(server.id)


def act(call, wanted, /, *args, **kwargs):
    getattr(compute, call)(server, *args, **kwargs)
    seen['states'].append([call, until(show, wanted).status])


compute.create_keypair(name='sdk-key', public_key=os.environ['PUBLIC_KEY'])
server = cloud.create_server(
    'sdk-1', image=image, flavor=tiny, network=network.id, key_name='sdk-key', meta={'a': 'b'},
    wait=True, auto_ip=False, timeout=60)
seen['shown'] = show().to_dict()
seen['listed'] = [each.name for each in compute.servers(name='sdk-1', status='ACTIVE')]
seen['paged'] = len(list(compute.servers(limit=1)))
seen['address'] = cloud.get_server_private_ip(server)
act('stop_server', 'SHUTOFF')
act('start_server', 'ACTIVE')

if IS_FULL:
    act('reboot_server', 'ACTIVE', 'SOFT')
    act('reboot_server', 'ACTIVE', 'HARD')
    act('pause_server', 'PAUSED')
    act('unpause_server', 'ACTIVE')
    act('suspend_server', 'SUSPENDED')
    act('resume_server', 'ACTIVE')
    act('resize_server', 'VERIFY_RESIZE', small)
    act('revert_server_resize', 'ACTIVE')
    act('resize_server', 'VERIFY_RESIZE', small)
    act('confirm_server_resize', 'ACTIVE')
    act('rebuild_server', 'ACTIVE', image, name='sdk-2', admin_password='sesame')
    act('rescue_server', 'RESCUE')
    act('unrescue_server', 'ACTIVE')
    act('shelve_server', 'SHELVED_OFFLOADED')
    act('unshelve_server', 'ACTIVE')
    act('lock_server', 'ACTIVE', 'mine')
    act('unlock_server', 'ACTIVE')
    act('change_server_password', 'ACTIVE', 'sesame')
    act('update_server', 'ACTIVE', name='sdk-3')
    compute.set_server_metadata(server, c='d')
    compute.delete_server_metadata(show(), ['a'])
    seen['changed'] = show().to_dict()
    added = compute.create_server_interface(server, net_id=network.id)
    seen['ports'] = [each.port_state for each in compute.server_interfaces(server)]
    compute.delete_server_interface(added.port_id, server)
    compute.remove_security_group_from_server(server, cloud.network.find_security_group('default'))
    compute.add_security_group_to_server(server, cloud.network.find_security_group('default'))
    seen['groups'] = compute.fetch_server_security_groups(server).security_groups
    seen['console'] = compute.get_server_console_output(server, length=1)['output']
    seen['zones'] = [each.name for each in compute.availability_zones()]
    seen['limits'] = compute.get_limits().absolute.to_dict()
    seen['keys'] = [each.name for each in compute.keypairs()]
    group = compute.create_server_group(name='sdk-group', policy='anti-affinity')
    seen['group'] = compute.get_server_group(group).to_dict()
    compute.delete_server_group(group)
    uploaded = cloud.create_image('sdk-image', filename=__file__, disk_format='raw', wait=True, hypervisor_type='fake')
    seen['uploaded'] = cloud.image.get_image(uploaded.id).to_dict()
    cloud.delete_image(uploaded.id, wait=True)
    seen['absent'] = compute.find_server('no-such-server')

seen['snapshot'] = cloud.create_image_snapshot('sdk-snap', server, wait=True).to_dict()
cloud.delete_server(server.id, wait=True, timeout=60)
seen['gone'] = gone(show, exceptions.ResourceNotFound)
compute.delete_keypair('sdk-key')
tell(seen)
