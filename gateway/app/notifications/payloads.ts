import { POWER_STATES } from '#common/states/instance-states.ts'
import type { FlavorSnapshot } from '#openapi/wire/instance.ts'
import type { HostRecord } from '../../db/host-list.ts'
import { COMPUTE_BINARY } from '../hosts/services.ts'
import type { EventSubject, NotifiedServer } from './event-subjects.ts'
import { type NovaObject, novaObject, novaTime, type PayloadType } from './notification.ts'

/** The words of Nova's notifications for power states; those of its API differ in this one. */
const NO_STATE = 'pending'
const POWER_NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(POWER_STATES).map(([name, number]) => [
    number,
    number === POWER_STATES.nostate ? NO_STATE : name,
  ]),
)
/** Of computes of Nova 26, whose objects these are (nova/objects/service.py). */
const SERVICE_VERSION = 64

/** That a disk is saved as an image; a server that starts from a volume has only snapshots made, of which Nova tells nothing. */
const SNAPSHOT = 'InstanceActionSnapshotPayload'

/** The payload of a notification; undefined: what it would be about is not known any more. */
export function payloadOf(type: PayloadType, subject: EventSubject): NovaObject | undefined {
  const [name] = type
  const { resource, volumeId } = subject.event.details
  if (resource !== undefined) return novaObject(type, resource)
  if (name === 'InstanceActionVolumePayload' && volumeId === undefined) return undefined
  if (name === SNAPSHOT && subject.action?.imageId === undefined) return undefined
  if (name === 'ExceptionPayload') return exceptionPayload(subject)
  if (name === 'ServiceStatusPayload')
    return subject.host && novaObject(type, serviceData(subject.host))
  const { server } = subject
  if (server === undefined) return undefined
  if (name === 'ComputeTaskPayload') {
    const state = subject.event.details.state ?? server.server.vmState
    const about = { instance_uuid: server.server.id, request_spec: null, state }
    return novaObject(type, { ...about, reason: exceptionPayload(subject) })
  }
  const data = { ...instanceData(server, subject), ...extraData(name, server, subject) }
  return novaObject(type, data)
}

function instanceData(
  { server, attributes, ports, attachments }: NotifiedServer,
  { event, action }: EventSubject,
) {
  const { details } = event
  const isGone = event.type === 'server.deleted' || server.deletedAt !== null
  const isStart = event.type === 'server.action' && details.action === 'create'
  return {
    uuid: server.id,
    user_id: server.userId,
    tenant_id: server.projectId,
    reservation_id: server.reservationId,
    display_name: server.name,
    display_description: server.description,
    host_name: server.hostname,
    host: server.host,
    node: server.hypervisorHostname,
    os_type: null,
    architecture: null,
    availability_zone: server.zone ?? server.requestedZone,
    flavor: flavorPayload(server.flavor),
    image_uuid: server.imageId ?? '',
    key_name: server.keyName,
    kernel_id: attributes.kernelId ?? '',
    ramdisk_id: attributes.ramdiskId ?? '',
    created_at: novaTime(server.createdAt),
    launched_at: novaTime(server.launchedAt),
    terminated_at: novaTime(server.terminatedAt),
    deleted_at: novaTime(server.deletedAt),
    updated_at: novaTime(server.updatedAt),
    state: isGone ? 'deleted' : (details.state ?? server.vmState),
    power_state: powerName(details.powerState) ?? POWER_NAMES.get(server.powerState) ?? NO_STATE,
    task_state: details.taskState === undefined ? server.taskState : details.taskState,
    progress: 0,
    ip_addresses: ports.flatMap((port) => ipPayloads(port, server.addresses)),
    block_devices: attachments.map(blockDevicePayload),
    metadata: server.metadata,
    locked: server.isLocked,
    locked_reason: server.lockedReason,
    auto_disk_config: server.diskConfig,
    request_id: details.requestId ?? null,
    action_initiator_user: details.userId ?? action?.userId ?? null,
    action_initiator_project: action?.projectId ?? null,
    ...(isStart && AS_ASKED_FOR),
  }
}

/** As the server was when its boot was asked for, however late the notification is. */
const AS_ASKED_FOR = {
  host: null,
  node: null,
  launched_at: null,
  state: 'building',
  task_state: 'scheduling',
  power_state: NO_STATE,
  ip_addresses: [],
} as const

function powerName(name: string | undefined): string | undefined {
  return name === 'nostate' ? NO_STATE : name
}

function extraData(
  name: string,
  { server, keypair }: NotifiedServer,
  { event, before, action }: EventSubject,
): Readonly<Record<string, unknown>> {
  const { details, at } = event
  if (name === 'InstanceUpdatePayload')
    return {
      state_update: novaObject(['InstanceStateUpdatePayload', '1.0'], {
        old_state: before?.state ?? 'building',
        state: details.state ?? server.vmState,
        old_task_state: before?.taskState ?? null,
        new_task_state: details.taskState ?? null,
      }),
      audit_period: novaObject(['AuditPeriodPayload', '1.0'], {
        audit_period_beginning: novaTime(
          new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), 1)),
        ),
        audit_period_ending: novaTime(at),
      }),
      old_display_name: null,
      tags: server.tags,
    }
  const fault = details.result === 'error' ? exceptionPayload({ event }) : null
  if (name === 'InstanceCreatePayload')
    return {
      fault,
      keypairs: keypair === undefined ? [] : [keypairPayload(keypair)],
      tags: server.tags,
      trusted_image_certificates: null,
      instance_name: server.instanceName,
    }
  if (name === 'InstanceActionVolumePayload') return { fault, volume_id: details.volumeId }
  if (name === SNAPSHOT) return { fault, snapshot_image_id: action?.imageId }
  if (name === 'InstanceActionRebuildPayload') return { fault, trusted_image_certificates: null }
  if (name === 'InstanceActionRescuePayload') return { fault, rescue_image_ref: null }
  return { fault }
}

function exceptionPayload({ event }: Pick<EventSubject, 'event'>): NovaObject {
  const { action = '', message } = event.details
  return novaObject(['ExceptionPayload', '1.1'], {
    module_name: 'weir',
    function_name: action,
    exception: 'NovaException',
    exception_message: message ?? '',
    traceback: '',
  })
}

function flavorPayload(flavor: FlavorSnapshot): NovaObject {
  return novaObject(['FlavorPayload', '1.4'], {
    flavorid: flavor.id,
    name: flavor.name,
    memory_mb: flavor.memoryMb,
    vcpus: flavor.vcpus,
    root_gb: flavor.rootGb,
    ephemeral_gb: flavor.ephemeralGb,
    swap: flavor.swapMb,
    rxtx_factor: 1,
    vcpu_weight: 0,
    disabled: false,
    is_public: true,
    extra_specs: flavor.extraSpecs,
    projects: null,
    description: null,
  })
}

function ipPayloads(
  { id, macAddress: mac, fixedIps }: NotifiedServer['ports'][number],
  addresses: NotifiedServer['server']['addresses'],
): readonly NovaObject[] {
  return fixedIps.map(({ address }) => {
    const [label = ''] = Object.entries(addresses).find(([, all]) =>
      all.some((each) => each.addr === address && each['OS-EXT-IPS-MAC:mac_addr'] === mac),
    ) ?? ['']
    return novaObject(['IpPayload', '1.0'], {
      label,
      mac,
      meta: {},
      port_uuid: id,
      version: address.includes(':') ? 6 : 4,
      address,
      device_name: `tap${id.slice(0, 11)}`,
    })
  })
}

function blockDevicePayload(attachment: NotifiedServer['attachments'][number]): NovaObject {
  const { device, isRoot, deletesVolume, volumeId, tag } = attachment
  return novaObject(['BlockDevicePayload', '1.0'], {
    device_name: device,
    boot_index: isRoot ? 0 : null,
    delete_on_termination: deletesVolume,
    volume_id: volumeId,
    tag,
  })
}

function keypairPayload(keypair: NonNullable<NotifiedServer['keypair']>): NovaObject {
  const { userId, name, fingerprint, publicKey, type } = keypair
  return novaObject(['KeypairPayload', '1.0'], {
    user_id: userId,
    name,
    fingerprint,
    public_key: publicKey,
    type,
  })
}

function serviceData({ view }: HostRecord) {
  return {
    host: view.name,
    binary: COMPUTE_BINARY,
    topic: 'compute',
    report_count: view.version,
    disabled: view.isDisabled,
    disabled_reason: view.disabledReason,
    availability_zone: view.zone,
    last_seen_up: novaTime(new Date(view.lastSeenAt)),
    forced_down: view.isForcedDown,
    version: SERVICE_VERSION,
    uuid: view.hostId,
  }
}
