"""
Drives Apache Libcloud, which does no discovery, through the life of a server. Arguments: its API version, and `full`
for every call.
"""
import os
import sys
import time

from libcloud.compute.providers import get_driver
from libcloud.compute.types import Provider

from steps import IS_FULL, LIMIT_SECONDS, PAUSE_SECONDS, tell

driver = get_driver(Provider.OPENSTACK)(
    os.environ['OS_USERNAME'],
    os.environ['OS_PASSWORD'],
    api_version=sys.argv[1],
    ex_force_auth_url=os.environ['OS_AUTH_URL'],
    ex_force_auth_version='3.x_password',
    ex_tenant_name=os.environ['OS_PROJECT_NAME'],
    ex_domain_name='Default',
    ex_force_service_region='RegionOne',
)
seen = {'states': []}


def show():
    return driver.ex_get_node_details(node.id)


def until(wanted):
    """The node once its `vm_state` is the wanted one and nothing is under way."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while True:
        found = show()
        state = found and (found.extra['vm_state'], found.extra['task_state'])
        if state == (wanted, None) or (state is None and wanted is None):
            return found
        if time.monotonic() > deadline:
            raise AssertionError('%s is %s, not %s' % (node.name, state, wanted))
        time.sleep(PAUSE_SECONDS)


def act(call, wanted, /, *args, **kwargs):
    getattr(driver, call)(node, *args, **kwargs)
    found = until(wanted)
    seen['states'].append([call, found.extra['vm_state'], str(found.state)])


sizes = {size.name: size for size in driver.list_sizes()}
image = next(each for each in driver.list_images() if each.name == 'tiny')
network = next(each for each in driver.ex_list_networks() if each.name == 'private')
driver.import_key_pair_from_string('libcloud-key', os.environ['PUBLIC_KEY'])
node = driver.create_node(
    'libcloud-1', sizes['m1.tiny'], image, networks=[network], ex_keyname='libcloud-key',
    ex_metadata={'a': 'b'}, ex_userdata='#!/bin/sh')
shown = until('active')
seen['size'] = {'ram': sizes['m1.tiny'].ram, 'disk': sizes['m1.tiny'].disk, 'vcpus': sizes['m1.tiny'].vcpus}
seen['shown'] = {
    'name': shown.name, 'state': str(shown.state), 'private_ips': shown.private_ips,
    'created': shown.created_at.isoformat(), 'extra': shown.extra}
seen['listed'] = [each.name for each in driver.list_nodes()]
act('ex_stop_node', 'stopped')
act('ex_start_node', 'active')

if IS_FULL:
    act('reboot_node', 'active')
    act('ex_soft_reboot_node', 'active')
    act('ex_pause_node', 'paused')
    act('ex_unpause_node', 'active')
    act('ex_suspend_node', 'suspended')
    act('ex_resume_node', 'active')
    act('ex_resize', 'resized', sizes['m1.small'])
    act('ex_revert_resize', 'active')
    act('ex_resize', 'resized', sizes['m1.small'])
    act('ex_confirm_resize', 'active')
    act('ex_rescue', 'rescued')
    act('ex_unrescue', 'active')
    act('ex_set_password', 'active', 'sesame')
    act('ex_set_server_name', 'active', 'libcloud-2')
    act('ex_set_metadata', 'active', {'c': 'd'})
    seen['name'] = show().name
    seen['metadata'] = driver.ex_get_metadata(node)
    seen['console'] = driver.ex_get_console_output(node, length=1)['output']
    seen['groups'] = [each.name for each in driver.ex_get_node_security_groups(node)]
    seen['specs'] = driver.ex_get_size_extra_specs(sizes['m1.tiny'].id)
    seen['keys'] = [each.name for each in driver.list_key_pairs()]
if IS_FULL and sys.argv[1] != '1.1':
    seen['quota'] = driver.ex_get_quota_set(node.extra['tenantId']).instances.limit
    ports = [each for each in driver.ex_list_ports() if each.extra['device_id'] == node.id]
    seen['ports'] = [each.state for each in ports]
    seen['subnets'] = [each.cidr for each in driver.ex_list_subnets()]

seen['snapshot'] = driver.create_image(node, 'libcloud-snap').name
seen['deleted'] = driver.destroy_node(node)
until(None)
driver.delete_key_pair(driver.get_key_pair('libcloud-key'))
tell(seen)
