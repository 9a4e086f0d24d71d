import type { operations } from '#openapi/compute.gen.ts'
import type { RequestedNetworks } from '../../app/networks/nic-request.ts'
import type { RequestedDisk, ServerRequest } from '../../app/servers/boot/server-request.ts'
import type { BodyOf } from '../../http/operation.ts'

type Body = BodyOf<operations['createServer']>
type Asked = Body['server']

/** The request's own names for what the API calls by many. */
export function serverRequest(body: Body): ServerRequest {
  const { server } = body
  const minCount = server.min_count ?? 1
  return {
    name: server.name,
    flavorRef: String(server.flavorRef),
    imageRef: server.imageRef || null,
    metadata: server.metadata ?? {},
    networks: networksOf(server.networks),
    securityGroups: (server.security_groups ?? []).flatMap(({ name }) => name ?? []),
    keyName: server.key_name ?? null,
    userData: server.user_data ?? null,
    adminPassword: server.adminPass ?? null,
    configDrive: server.config_drive ?? false,
    availabilityZone: server.availability_zone ?? null,
    host: server.host ?? null,
    hypervisorHostname: server.hypervisor_hostname ?? null,
    hostname: server.hostname ?? null,
    description: server.description ?? null,
    tags: server.tags ?? [],
    diskConfig: server['OS-DCF:diskConfig'] ?? 'MANUAL',
    accessIPv4: server.accessIPv4 ?? null,
    accessIPv6: server.accessIPv6 ?? null,
    minCount,
    maxCount: server.max_count ?? minCount,
    disks: disksOf(server),
    files: server.personality ?? [],
    trustedCertificates: server.trusted_image_certificates ?? null,
    hints: { ...body['os:scheduler_hints'], ...body['OS-SCH-HNT:scheduler_hints'] },
  }
}

function networksOf(asked: Asked['networks']): RequestedNetworks {
  if (asked === undefined || typeof asked === 'string') return asked
  return asked.map(({ uuid, port, fixed_ip, tag }) => ({
    ...(uuid === undefined ? {} : { networkId: uuid }),
    ...(port === undefined || port === null ? {} : { portId: port }),
    ...(fixed_ip === undefined ? {} : { fixedIp: fixed_ip }),
    ...(tag === undefined ? {} : { tag }),
  }))
}

function disksOf(server: Asked): readonly RequestedDisk[] {
  const disks = (server.block_device_mapping_v2 ?? []).map((disk) => ({
    sourceType: disk.source_type,
    destinationType: disk.destination_type,
    sourceId: disk.uuid ?? disk.volume_id ?? disk.snapshot_id ?? disk.image_id,
    bootIndex: disk.boot_index === undefined ? undefined : Number(disk.boot_index ?? -1),
    // Nova takes an empty one for none.
    guestFormat: disk.guest_format === '' ? undefined : disk.guest_format,
    size: sizeOf(disk.volume_size),
    volumeType: disk.volume_type ?? undefined,
    tag: disk.tag,
    deletesVolume: disk.delete_on_termination,
  }))
  return [...(server.block_device_mapping ?? []).map(legacyDisk), ...disks]
}

/** The older form names local disks by `virtual_name`; all else is a volume or a snapshot of one. */
function legacyDisk(disk: NonNullable<Asked['block_device_mapping']>[number]): RequestedDisk {
  const { virtual_name: name, snapshot_id: snapshotId, volume_id: volumeId } = disk
  const shared = {
    bootIndex: undefined,
    size: sizeOf(disk.volume_size),
    deletesVolume: disk.delete_on_termination,
  }
  if (name === 'swap' || name?.startsWith('ephemeral') === true) {
    const guestFormat = name === 'swap' ? name : undefined
    return {
      ...shared,
      guestFormat,
      sourceType: 'blank',
      destinationType: 'local',
      sourceId: undefined,
    }
  }
  const sourceType = snapshotId === undefined ? 'volume' : 'snapshot'
  const sourceId = snapshotId ?? volumeId
  return { ...shared, guestFormat: undefined, sourceType, destinationType: 'volume', sourceId }
}

function sizeOf(size: number | string | undefined): number | undefined {
  return size === undefined ? undefined : Number(size)
}
