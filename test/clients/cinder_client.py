"""Drives volumes and snapshots with python-cinderclient, and attaches one with python-novaclient. Its user is a member."""
import os

from cinderclient import client
from cinderclient import exceptions
from keystoneauth1 import session
from keystoneauth1.identity import v3
from novaclient import client as nova_client

from steps import gone, tell, until

auth = v3.Password(
    auth_url=os.environ['OS_AUTH_URL'],
    username=os.environ['OS_USERNAME'],
    password=os.environ['OS_PASSWORD'],
    project_name=os.environ['OS_PROJECT_NAME'],
    user_domain_id='default',
    project_domain_id='default',
)
user = session.Session(auth=auth)
cinder = client.Client('3.71', session=user, region_name='RegionOne')
nova = nova_client.Client('2.79', session=user, region_name='RegionOne')


def volume(wanted, id):
    return until(lambda: cinder.volumes.get(id), wanted)


def made(**asked):
    return volume('available', cinder.volumes.create(**asked).id)


first = made(size=1, name='cinder-1', metadata={'a': 'b'})
seen = {
    'made': {'size': first.size, 'metadata': first.metadata, 'bootable': first.bootable},
    'zones': [each.zoneName for each in cinder.availability_zones.list()],
    'types': [each.name for each in cinder.volume_types.list()],
    'limits': {each.name: each.value for each in cinder.limits.get().absolute},
}
cinder.volumes.extend(first, 2)
seen['extended'] = volume('available', first.id).size
cinder.volumes.update(first, name='cinder-2', description='renamed')
cinder.volumes.set_metadata(first, {'c': 'd'})
cinder.volumes.delete_metadata(first, ['a'])
cinder.volumes.set_bootable(first, True)
cinder.volumes.update_readonly_flag(first, False)
cinder.volumes.set_image_metadata(first, {'os_distro': 'debian', 'hw_disk_bus': 'scsi'})
cinder.volumes.delete_image_metadata(first, ['os_distro'])
seen['image_metadata'] = [cinder.volumes.show_image_metadata(first)[1]['metadata'], cinder.volumes.get(first.id).volume_image_metadata]
changed = cinder.volumes.get(first.id)
seen['changed'] = {
    'name': changed.name, 'description': changed.description,
    'bootable': changed.bootable, 'metadata': {k: v for k, v in changed.metadata.items() if k != 'readonly'}}

snapshot = cinder.volume_snapshots.create(first.id, name='cinder-snap')
until(lambda: cinder.volume_snapshots.get(snapshot.id), 'available')
seen['snapshots'] = [(each.name, each.size) for each in cinder.volume_snapshots.list()]
cinder.volumes.revert_to_snapshot(first, snapshot)
volume('available', first.id)
copies = [
    made(size=2, name='from-snapshot', snapshot_id=snapshot.id),
    made(size=2, name='from-volume', source_volid=first.id),
]
pages, marker = [], None
while True:
    page = cinder.volumes.list(limit=2, marker=marker, sort='name:asc')
    if not page:
        break
    pages.append([each.name for each in page])
    marker = page[-1].id
seen['pages'] = pages
seen['found'] = [each.name for each in cinder.volumes.list(search_opts={'name': 'from-volume'})]

server = nova.servers.list()[0]
nova.volumes.create_server_volume(server.id, first.id)
held = volume('in-use', first.id)
seen['attached'] = [each['server_id'] == server.id for each in held.attachments]
seen['attachments'] = [each.volume_id == first.id for each in cinder.attachments.list()]
try:
    cinder.volumes.delete(first)
except exceptions.BadRequest as error:
    seen['in_use'] = error.code
nova.volumes.delete_server_volume(server.id, first.id)
volume('available', first.id)

transfer = cinder.transfers.create(copies[0].id, name='cinder-gift')
seen['transfer'] = [volume('awaiting-transfer', copies[0].id).status, bool(transfer.auth_key)]
cinder.transfers.delete(transfer.id)
volume('available', copies[0].id)

_, answer = cinder.volumes.upload_to_image(copies[1], False, 'cinder-image', 'bare', 'raw', 'private', False)
volume('available', copies[1].id)
seen['image'] = answer['os-volume_upload_image']['image_name']

cinder.volume_snapshots.delete(snapshot)
gone(lambda: cinder.volume_snapshots.get(snapshot.id), exceptions.NotFound)
for each in [first, *copies]:
    cinder.volumes.delete(each)
for each in [first, *copies]:
    gone(lambda: cinder.volumes.get(each.id), exceptions.NotFound)
seen['left'] = len(cinder.volumes.list())
tell(seen)
