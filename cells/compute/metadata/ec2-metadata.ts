import { createHash } from 'node:crypto'
import ipaddr from 'ipaddr.js'
import type { InstanceId } from '#common/ids.ts'
import type { InstanceBuild } from '#openapi/wire/instance.ts'
import type { GuestLabels } from '#openapi/wire/labels.ts'
import { fullHostname, type MetadataBuild } from './openstack-files.ts'

/** Of Amazon's format; Nova lists the same, and answers all with the same content but for what was new in them. */
export const EC2_VERSIONS = [
  '1.0',
  '2007-01-19',
  '2007-03-01',
  '2007-08-29',
  '2007-10-10',
  '2007-12-15',
  '2008-02-01',
  '2008-09-01',
  '2009-04-04',
  'latest',
] as const

/** Values by name; an object is a folder. */
export interface Ec2Folder {
  readonly [name: string]: string | Ec2Folder
}

export interface Ec2Build extends MetadataBuild {
  readonly flavor: Pick<InstanceBuild['flavor'], 'name'>
  readonly imageId: string
  readonly reservationId: string
}

/** What Amazon's format has below `meta-data`; empty texts where there is nothing to say. */
export function ec2Metadata(
  id: InstanceId,
  build: Ec2Build,
  { securityGroups, publicIpv4 }: Pick<GuestLabels, 'securityGroups' | 'publicIpv4'>,
): Ec2Folder {
  const { keypair } = build
  const hostname = fullHostname(build)
  return {
    'ami-id': `ami-${shortId(build.imageId)}`,
    'ami-launch-index': String(build.launchIndex),
    'block-device-mapping': { ami: 'vda', root: '/dev/vda' },
    hostname,
    'instance-action': 'none',
    'instance-id': `i-${shortId(id)}`,
    'instance-type': build.flavor.name,
    'local-hostname': hostname,
    'local-ipv4': firstIpv4(build) ?? '',
    placement: { 'availability-zone': build.zone ?? '' },
    'public-hostname': hostname,
    'public-ipv4': publicIpv4 ?? '',
    ...(keypair !== null && { 'public-keys': { '0': { 'openssh-key': keypair.publicKey } } }),
    'reservation-id': build.reservationId,
    'security-groups': securityGroups.join('\n'),
  }
}

/** Amazon's ids have eight digits. */
function shortId(id: string): string {
  return createHash('sha256').update(id).digest('hex').slice(0, 8)
}

function firstIpv4({ nics }: MetadataBuild): string | undefined {
  return nics
    .flatMap(({ fixedIps }) => fixedIps.map(({ address }) => address))
    .find((address) => ipaddr.parse(address).kind() === 'ipv4')
}
