import { randomBytes } from 'node:crypto'
import ipaddr from 'ipaddr.js'
import type { InstanceId } from '#common/ids.ts'
import { netmaskOf, routesOf } from '#drivers/machine-config-drive.ts'
import type { InstanceBuild } from '#openapi/wire/instance.ts'

/** Nova's default `dhcp_domain`: guests whose host name has no domain know themselves as <hostname>.novalocal. */
const DOMAIN = 'novalocal'
const SEED_BYTES = 512

/** The part of a build that its guest is told. */
export type MetadataBuild = Pick<
  InstanceBuild,
  | 'hostname'
  | 'keypair'
  | 'launchIndex'
  | 'metadata'
  | 'name'
  | 'nics'
  | 'projectId'
  | 'userData'
  | 'zone'
>

/** A volume that the guest finds by a tag. */
export interface TaggedDisk {
  readonly attachmentId: string
  /** The disk's serial number: the volume's id, of which a guest may see only the first 20 characters. */
  readonly serial: string
  readonly tag: string
}

interface FurtherData {
  readonly ofDrive?: object
  /** Absent: none. */
  readonly disks?: readonly TaggedDisk[] | undefined
}

/** The files of one version in OpenStack's format, by name (nova: user/metadata). */
export function openstackFiles(
  id: InstanceId,
  build: MetadataBuild,
  { ofDrive = {}, disks = [] }: FurtherData = {},
): Readonly<Record<string, Uint8Array>> {
  return {
    'meta_data.json': json({ ...metaData(id, build, disks), ...ofDrive }),
    'network_data.json': json(networkData(build.nics)),
    'vendor_data.json': json({}),
    'vendor_data2.json': json({}),
    ...(build.userData !== null && { user_data: Buffer.from(build.userData, 'base64') }),
  }
}

/** The name by which a guest knows itself. */
export function fullHostname({ hostname }: Pick<InstanceBuild, 'hostname'>): string {
  return hostname.includes('.') ? hostname : `${hostname}.${DOMAIN}`
}

function metaData(id: InstanceId, build: MetadataBuild, disks: readonly TaggedDisk[]): object {
  const { keypair } = build
  return {
    uuid: id,
    name: build.name,
    hostname: fullHostname(build),
    project_id: build.projectId,
    availability_zone: build.zone,
    launch_index: build.launchIndex,
    meta: build.metadata,
    ...(keypair === null
      ? {}
      : {
          public_keys: { [keypair.name]: keypair.publicKey },
          keys: [{ name: keypair.name, type: keypair.type, data: keypair.publicKey }],
        }),
    random_seed: randomBytes(SEED_BYTES).toString('base64'),
    devices: [...build.nics.flatMap(taggedDevice), ...disks.map(diskDevice)],
  }
}

/** Where it is plugged in, its driver decides. */
function taggedDevice({ tag, macAddress }: InstanceBuild['nics'][number]): readonly object[] {
  if (tag === undefined) return []
  return [{ type: 'nic', bus: 'none', address: 'none', mac: macAddress, tags: [tag] }]
}

function diskDevice({ serial, tag }: TaggedDisk): object {
  return { type: 'disk', bus: 'none', address: 'none', serial, tags: [tag] }
}

function json(value: object): Uint8Array {
  return Buffer.from(JSON.stringify(value))
}

type Nic = InstanceBuild['nics'][number]
type FixedIp = Nic['fixedIps'][number]

/** `network_data.json`: links, the addresses on them, and name servers (nova: network_data schema). */
function networkData(nics: readonly Nic[]): object {
  return {
    links: nics.map((nic, index) => ({
      id: `tap${index}`,
      vif_id: nic.portId,
      type: 'bridge',
      mtu: nic.mtu,
      ethernet_mac_address: nic.macAddress,
    })),
    networks: nics.flatMap((nic, link) =>
      nic.fixedIps.map((ip, index) => network(nic, ip, `network${link}-${index}`, `tap${link}`)),
    ),
    services: [...new Set(nics.flatMap((nic) => nic.fixedIps.flatMap((ip) => ip.dnsServers)))].map(
      (address) => ({ type: 'dns', address }),
    ),
  }
}

function network(nic: Nic, ip: FixedIp, id: string, link: string): object {
  const kind = ipaddr.parse(ip.address).kind()
  const base = { id, link, network_id: nic.networkId }
  if (ip.dhcp && kind === 'ipv4') return { ...base, type: 'ipv4_dhcp' }
  return {
    ...base,
    type: kind,
    ip_address: ip.address,
    netmask: netmaskOf(ip.cidr),
    routes: routesOf(ip),
  }
}
