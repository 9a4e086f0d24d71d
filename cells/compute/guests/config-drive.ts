import { randomBytes } from 'node:crypto'
import ipaddr from 'ipaddr.js'
import type { InstanceId } from '#common/ids.ts'
import { netmaskOf, routesOf } from '#drivers/machine-config-drive.ts'
import type { InstanceBuild } from '#openapi/wire/instance.ts'

/** Nova's default `dhcp_domain`: guests whose host name has no domain know themselves as <hostname>.novalocal. */
const DOMAIN = 'novalocal'
/** The dated folder is the newest that Nova writes; cloud-init reads the newest it knows, else `latest`. */
const FOLDERS = ['latest', '2018-08-27']
const SEED_BYTES = 512

/** Path inside the drive -> content, in OpenStack's layout (nova: user/metadata). */
export function configDriveFiles(
  id: InstanceId,
  build: InstanceBuild,
): Readonly<Record<string, Uint8Array>> {
  const files: Record<string, Uint8Array> = {}
  for (const [index, { contents }] of (build.files ?? []).entries())
    files[`openstack${contentPath(index)}`] = Buffer.from(contents, 'base64')
  for (const folder of FOLDERS) {
    files[`openstack/${folder}/meta_data.json`] = json(metaData(id, build))
    files[`openstack/${folder}/network_data.json`] = json(networkData(build.nics))
    files[`openstack/${folder}/vendor_data.json`] = json({})
    if (build.userData !== null)
      files[`openstack/${folder}/user_data`] = Buffer.from(build.userData, 'base64')
  }
  return files
}

function metaData(id: InstanceId, build: InstanceBuild): object {
  const { keypair, adminPassword } = build
  return {
    uuid: id,
    name: build.name,
    hostname: build.hostname.includes('.') ? build.hostname : `${build.hostname}.${DOMAIN}`,
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
    ...(adminPassword === null ? {} : { admin_pass: adminPassword }),
    ...(build.files === undefined
      ? {}
      : { files: build.files.map(({ path }, i) => ({ content_path: contentPath(i), path })) }),
    random_seed: randomBytes(SEED_BYTES).toString('base64'),
    devices: build.nics.flatMap(taggedDevice),
  }
}

/** Of a file that the user sent, below `openstack` on the drive (nova/api/metadata/base.py). */
function contentPath(index: number): string {
  return `/content/${String(index).padStart(4, '0')}`
}

/** Where it is plugged in, its driver decides. */
function taggedDevice({ tag, macAddress }: InstanceBuild['nics'][number]): readonly object[] {
  if (tag === undefined) return []
  return [{ type: 'nic', bus: 'none', address: 'none', mac: macAddress, tags: [tag] }]
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
