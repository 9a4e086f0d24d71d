import { EC2_VERSIONS, type Ec2Folder, ec2Metadata } from './ec2-metadata.ts'
import type { GuestRecord } from './metadata-store.ts'
import { openstackFiles } from './openstack-files.ts'

/** Nova's, each of which is answered with the newest content. */
const OPENSTACK_VERSIONS = [
  '2012-08-10',
  '2013-04-04',
  '2013-10-17',
  '2015-10-15',
  '2016-06-30',
  '2016-10-06',
  '2017-02-22',
  '2018-08-27',
  '2020-10-14',
  'latest',
]
/** The guest reads and writes it, so that it is no file of the drive. */
export const PASSWORD = 'password'

/** What the guest reads at the path; undefined: nothing is there. Folders are answered with the names in them. */
export function metadataAt(guest: GuestRecord, path: string): Uint8Array | string | undefined {
  const names = path.split('/').filter((name) => name !== '')
  const [first, ...rest] = names
  if (first === undefined) return EC2_VERSIONS.join('\n')
  if (first === 'openstack') return openstackAt(guest, rest)
  return EC2_VERSIONS.some((version) => version === first) ? ec2At(guest, rest) : undefined
}

/** True for the path of the password that the guest may publish. */
export function isPasswordPath(path: string): boolean {
  const [first, version = '', name, ...rest] = path.split('/').filter((each) => each !== '')
  return (
    first === 'openstack' &&
    OPENSTACK_VERSIONS.includes(version) &&
    name === PASSWORD &&
    rest.length === 0
  )
}

function openstackAt(
  { id, build, password, disks }: GuestRecord,
  [version, name, ...rest]: readonly string[],
): Uint8Array | string | undefined {
  if (version === undefined) return OPENSTACK_VERSIONS.join('\n')
  if (!OPENSTACK_VERSIONS.includes(version) || rest.length > 0) return undefined
  const files: Readonly<Record<string, Uint8Array | string>> = {
    ...openstackFiles(id, build, { disks }),
    [PASSWORD]: password ?? '',
  }
  if (name === undefined) return Object.keys(files).join('\n')
  return Object.hasOwn(files, name) ? files[name] : undefined
}

function ec2At(
  { id, build, labels }: GuestRecord,
  [kind, ...names]: readonly string[],
): Uint8Array | string | undefined {
  const { userData, keypair } = build
  if (kind === undefined) return userData === null ? 'meta-data/' : 'meta-data/\nuser-data'
  if (kind === 'user-data')
    return userData === null || names.length > 0 ? undefined : Buffer.from(userData, 'base64')
  if (kind !== 'meta-data') return undefined
  // Amazon lists keys with their names: `0=mykey`.
  if (names.length === 1 && names[0] === 'public-keys')
    return keypair === null ? undefined : `0=${keypair.name}`
  return valueAt(ec2Metadata(id, build, labels), names)
}

function valueAt(folder: Ec2Folder, names: readonly string[]): string | undefined {
  let found: string | Ec2Folder | undefined = folder
  for (const name of names) {
    if (found === undefined || typeof found === 'string') return undefined
    found = Object.hasOwn(found, name) ? found[name] : undefined
  }
  if (found === undefined || typeof found === 'string') return found
  return Object.entries(found)
    .map(([name, value]) => (typeof value === 'string' ? name : `${name}/`))
    .join('\n')
}
