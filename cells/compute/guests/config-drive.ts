import { randomBytes } from 'node:crypto'
import type { InstanceId } from '#common/ids.ts'
import type { InstanceBuild } from '#openapi/wire/instance.ts'
import { networkData } from './network-data.ts'

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
