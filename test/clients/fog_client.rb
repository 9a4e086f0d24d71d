# Drives fog-openstack through the life of a server. Argument: `full` for every call.
require 'fog/openstack'
require 'json'

LIMIT_SECONDS = 60
PAUSE_SECONDS = 0.1
FULL = ARGV.include?('full')

access = {
  openstack_auth_url: ENV.fetch('OS_AUTH_URL'),
  openstack_username: ENV.fetch('OS_USERNAME'),
  openstack_api_key: ENV.fetch('OS_PASSWORD'),
  openstack_project_name: ENV.fetch('OS_PROJECT_NAME'),
  openstack_domain_id: 'default',
  openstack_region: 'RegionOne'
}
compute = Fog::OpenStack::Compute.new(access)
image = Fog::OpenStack::Image.new(access).images.find { |each| each.name == 'tiny' }
network = Fog::OpenStack::Network.new(access).networks.find { |each| each.name == 'private' }
flavors = compute.flavors.to_h { |each| [each.name, each] }
seen = { states: [] }

compute.key_pairs.create(name: 'fog-key', public_key: ENV.fetch('PUBLIC_KEY'))
server = compute.servers.create(
  name: 'fog-1', image_ref: image.id, flavor_ref: flavors['m1.tiny'].id, key_name: 'fog-key',
  metadata: { 'a' => 'b' }, nics: [{ 'net_id' => network.id }], user_data: '#!/bin/sh'
)
server.wait_for(LIMIT_SECONDS, PAUSE_SECONDS) { ready? }

act = lambda do |call, wanted, *args|
  server.public_send(call, *args)
  server.wait_for(LIMIT_SECONDS, PAUSE_SECONDS) { state == wanted && os_ext_sts_task_state.nil? }
  seen[:states] << [call, server.state]
end

seen[:shown] = server.attributes.reject { |key| key == :links }
seen[:address] = server.private_ip_address
seen[:metadata] = compute.servers.get(server.id).metadata.to_hash
seen[:listed] = compute.servers.all(name: 'fog-1').map(&:name)
act.call(:stop, 'SHUTOFF')
act.call(:start, 'ACTIVE')

if FULL
  act.call(:reboot, 'ACTIVE', 'SOFT')
  act.call(:reboot, 'ACTIVE', 'HARD')
  act.call(:pause, 'PAUSED')
  act.call(:start, 'ACTIVE')
  act.call(:suspend, 'SUSPENDED')
  act.call(:start, 'ACTIVE')
  act.call(:resize, 'VERIFY_RESIZE', flavors['m1.small'].id)
  act.call(:revert_resize, 'ACTIVE')
  act.call(:resize, 'VERIFY_RESIZE', flavors['m1.small'].id)
  act.call(:confirm_resize, 'ACTIVE')
  act.call(:rebuild, 'ACTIVE', image.id, 'fog-2')
  act.call(:shelve, 'SHELVED_OFFLOADED')
  act.call(:unshelve, 'ACTIVE')
  act.call(:change_password, 'ACTIVE', 'sesame')
  compute.rescue_server(server.id)
  server.wait_for(LIMIT_SECONDS, PAUSE_SECONDS) { state == 'RESCUE' }
  compute.server_action(server.id, 'unrescue' => nil)
  server.wait_for(LIMIT_SECONDS, PAUSE_SECONDS) { ready? }
  compute.update_server(server.id, 'name' => 'fog-3')
  seen[:name] = compute.servers.get(server.id).name
  compute.update_metadata('servers', server.id, 'c' => 'd')
  compute.delete_meta('servers', server.id, 'a')
  seen[:changed] = compute.servers.get(server.id).metadata.to_hash
  seen[:console] = server.console(1).body['output']
  seen[:groups] = server.security_groups.map(&:name)
  seen[:ports] = server.os_interfaces.map(&:port_state)
  seen[:keys] = compute.key_pairs.map(&:name)
  seen[:zones] = compute.list_zones.body['availabilityZoneInfo'].map { |each| each['zoneName'] }
  seen[:limits] = compute.get_limits.body['limits']['absolute']
  seen[:actions] = compute.server_actions(server.id).map { |each| each['action'] }
  group = compute.server_groups.create('fog-group', 'anti-affinity')
  seen[:group] = compute.server_groups.get(group.id).attributes
  compute.delete_server_group(group.id)
  begin
    compute.servers.create(name: 'x', image_ref: image.id, flavor_ref: 'none', nics: [{ 'net_id' => network.id }])
  rescue Excon::Error::BadRequest => e
    seen[:refused] = JSON.parse(e.response.body)
  end
end

snapshot = server.create_image('fog-snap')
images = Fog::OpenStack::Image.new(access).images
Fog.wait_for(LIMIT_SECONDS, PAUSE_SECONDS) { images.get(snapshot.body['image']['id']).status == 'active' }
seen[:snapshot] = images.get(snapshot.body['image']['id']).name
server.destroy
Fog.wait_for(LIMIT_SECONDS, PAUSE_SECONDS) { compute.servers.get(server.id).nil? }
seen[:gone] = true
compute.key_pairs.get('fog-key').destroy
puts JSON.generate(seen)
