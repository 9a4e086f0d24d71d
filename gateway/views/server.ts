import { apiStatus, type PowerNumber, ROOT_DEVICE } from '#common/states/instance-states.ts'
import { isAllowed } from '../app/policy.ts'
import type { RequestContext } from '../app/request-context.ts'
import type { ServerExtras } from '../app/servers/list/server-extras.ts'
import type { AttachedVolume, ServerRecord } from '../app/servers/list/server-record.ts'
import type { Links } from '../http/links.ts'
import { hostIdOf } from './host-id.ts'
import { isSince } from './since.ts'
import { plainTime, zonedTime } from './time.ts'

/** Statuses in which Nova shows a progress, and a fault (nova/api/openstack/compute/views/servers.py). */
const WITH_PROGRESS: ReadonlySet<string> = new Set([
  'ACTIVE',
  'BUILD',
  'REBUILD',
  'RESIZE',
  'VERIFY_RESIZE',
  'MIGRATING',
])
const WITH_FAULT: ReadonlySet<string> = new Set(['ERROR', 'DELETED'])

const NOTHING: readonly never[] = []

/** Servers as lists name them. */
export function serverSummaries(servers: readonly ServerRecord[], links: Links) {
  const self = links.to('/compute/v2.1/servers/')
  const bookmark = links.to('/compute/servers/')
  return servers.map(({ id, name }) => ({
    id,
    name,
    links: [
      { rel: 'self', href: self + id },
      { rel: 'bookmark', href: bookmark + id },
    ],
  }))
}

export type ServerView = ReturnType<ReturnType<typeof serverViewer>>

/**
 * Makes the view of servers for one caller, with all fields. Decisions that are the same for all servers are taken
 * once: this runs a hundred times for a page. `extras` are for callers who may see the hosts of servers.
 */
export function serverViewer(
  context: RequestContext,
  links: Links,
  extras: ServerExtras | undefined,
) {
  const self = links.to('/compute/v2.1/servers/')
  const bookmark = links.to('/compute/servers/')
  const imageLink = links.to('/compute/images/')
  const flavorLink = links.to('/compute/flavors/')
  const showsSpecs = isAllowed(context, 'os_compute_api:os-flavor-extra-specs:index')
  const showsHostStatus = isAllowed(context, 'os_compute_api:servers:show:host_status')
  // Until 2.89 the host name is one of the attributes for administrators.
  const showsHostname = extras !== undefined || isSince(context, '2.90')

  return (server: ServerRecord) => {
    const { id, flavor, imageId, fault, requested, securityGroups } = server
    const status = apiStatus(server.vmState, server.taskState)
    return {
      id,
      name: server.name,
      status,
      tenant_id: server.projectId,
      user_id: server.userId,
      metadata: server.metadata,
      hostId: hostIdOf(server.projectId, server.host),
      image: imageId === null ? '' : imageView(imageId, imageLink + imageId, requested),
      flavor: flavorView(flavor, flavorLink + flavor.id, showsSpecs),
      created: zonedTime(server.createdAt),
      updated: zonedTime(server.updatedAt),
      addresses: server.addresses,
      accessIPv4: server.accessIPv4 ?? '',
      accessIPv6: server.accessIPv6 ?? '',
      links: [
        { rel: 'self', href: self + id },
        { rel: 'bookmark', href: bookmark + id },
      ],
      'OS-DCF:diskConfig': server.diskConfig,
      config_drive: server.configDrive ? ('True' as const) : ('' as const),
      key_name: server.keyName,
      'os-extended-volumes:volumes_attached':
        server.volumes.length > 0 ? server.volumes.map(attachedView) : NOTHING,
      'OS-EXT-AZ:availability_zone': server.zone ?? server.requestedZone ?? '',
      'OS-EXT-STS:power_state': server.powerState as PowerNumber,
      'OS-EXT-STS:task_state': server.taskState,
      'OS-EXT-STS:vm_state': server.vmState,
      'OS-SRV-USG:launched_at': server.launchedAt && plainTime(server.launchedAt),
      'OS-SRV-USG:terminated_at': server.terminatedAt && plainTime(server.terminatedAt),
      locked: server.isLocked,
      description: server.description,
      tags: server.tags,
      trusted_image_certificates: requested.trustedCertificates,
      locked_reason: server.lockedReason,
      server_groups: NOTHING,
      pinned_availability_zone: requested.zone,
      scheduler_hints: requested.hints,
      // Absent where undefined. A spread instead would have V8 make the object one property after the other.
      progress: WITH_PROGRESS.has(status) ? 0 : undefined,
      fault:
        fault !== null && WITH_FAULT.has(status) ? faultView(fault, context.isAdmin) : undefined,
      security_groups: securityGroups.length > 0 ? securityGroups.map(groupView) : undefined,
      'OS-EXT-SRV-ATTR:hostname': showsHostname ? server.hostname : undefined,
      host_status: extras !== undefined && showsHostStatus ? extras.hostStatus(server) : undefined,
      ...(extras !== undefined && placeView(server, extras)),
    }
  }
}

function attachedView({ id, deletesVolume }: AttachedVolume) {
  return { id, delete_on_termination: deletesVolume }
}

function groupView(name: string) {
  return { name }
}

function imageView(id: string, bookmark: string, requested: ServerRecord['requested']) {
  const links = [{ rel: 'bookmark', href: bookmark }]
  return { id, links, properties: requested.imageProperties }
}

/** By id until 2.46; from 2.47 on what it was when the server was made. */
function flavorView(flavor: ServerRecord['flavor'], bookmark: string, showsSpecs: boolean) {
  return {
    id: flavor.id,
    links: [{ rel: 'bookmark', href: bookmark }],
    original_name: flavor.name,
    vcpus: flavor.vcpus,
    ram: flavor.memoryMb,
    disk: flavor.rootGb,
    ephemeral: flavor.ephemeralGb,
    swap: flavor.swapMb,
    extra_specs: showsSpecs ? flavor.extraSpecs : undefined,
  }
}

function faultView(fault: NonNullable<ServerRecord['fault']>, isAdmin: boolean) {
  const { code, message, details, createdAt } = fault
  return {
    code,
    message,
    created: zonedTime(new Date(createdAt)),
    ...(isAdmin && details !== '' && { details }),
  }
}

function placeView(server: ServerRecord, extras: ServerExtras) {
  return {
    'OS-EXT-SRV-ATTR:host': server.host,
    'OS-EXT-SRV-ATTR:hypervisor_hostname': server.hypervisorHostname,
    'OS-EXT-SRV-ATTR:instance_name': server.instanceName ?? '',
    'OS-EXT-SRV-ATTR:kernel_id': extras.kernelId(server),
    'OS-EXT-SRV-ATTR:launch_index': server.launchIndex,
    'OS-EXT-SRV-ATTR:ramdisk_id': extras.ramdiskId(server),
    'OS-EXT-SRV-ATTR:reservation_id': server.reservationId,
    'OS-EXT-SRV-ATTR:root_device_name': ROOT_DEVICE,
    'OS-EXT-SRV-ATTR:user_data': extras.userData(server),
  }
}
