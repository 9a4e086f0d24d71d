"""Drives volumes with openstacksdk, and boots a server from one. Its user is a member."""
import openstack
from openstack.block_storage.v3.snapshot import Snapshot

from steps import tell

cloud = openstack.connect()
storage = cloud.block_storage


def available(made):
    # What the library holds is as old as its last answer.
    get = storage.get_snapshot if isinstance(made, Snapshot) else storage.get_volume
    return storage.wait_for_status(get(made), 'available', failures=['error'], interval=0.2)


volume = available(storage.create_volume(size=1, name='sdk-1', metadata={'a': 'b'}))
storage.extend_volume(volume, 2)
available(volume)
snapshot = available(storage.create_snapshot(volume_id=volume.id, name='sdk-snap'))
copy = available(storage.create_volume(size=2, name='sdk-2', snapshot_id=snapshot.id))
seen = {
    'extended': storage.get_volume(volume).size,
    'listed': sorted(each.name for each in storage.volumes()),
    'found': storage.find_volume('sdk-2').id == copy.id,
    'snapshots': [each.name for each in storage.snapshots()],
    'types': [each.name for each in storage.types()],
    'quota': storage.get_quota_set(cloud.current_project_id, usage=True).usage['gigabytes'],
}
server = cloud.create_server(
    'sdk-from-volume', flavor='m1.tiny', image='tiny', network='private', boot_from_volume=True,
    volume_size=1, terminate_volume=True, volumes=[volume.id], wait=True)
attachments = list(cloud.compute.volume_attachments(server))
seen['booted'] = {'status': server.status, 'image': getattr(server.image, 'id', None), 'volumes': len(attachments)}
cloud.detach_volume(server, storage.get_volume(volume), wait=True)
seen['detached'] = storage.get_volume(volume).status
cloud.delete_server(server.id, wait=True)
storage.delete_snapshot(snapshot)
storage.wait_for_delete(snapshot)
for each in (volume, copy):
    storage.delete_volume(each)
    storage.wait_for_delete(each)
seen['left'] = sum(1 for _ in storage.volumes())
tell(seen)
