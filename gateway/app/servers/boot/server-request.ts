import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { withoutTrailing } from '#common/without-trailing.ts'
import type { InjectedFile } from '#openapi/wire/instance.ts'
import type { ProjectUser } from '../../../db/user-quota-limits.ts'
import type { RequestedNetworks } from '../../networks/nic-request.ts'
import { lowerLimit } from '../../quotas/quota-limits.ts'
import { type QuotaResource, UNLIMITED } from '../../quotas/resources.ts'

/** A requested block device. */
export interface RequestedDisk {
  readonly sourceType: string | undefined
  readonly destinationType: string | undefined
  /** Of the image, volume or snapshot it is made from. */
  readonly sourceId: string | undefined
  readonly bootIndex: number | null | undefined
  readonly guestFormat: string | undefined
  /** GiB; MiB where the guest format is swap. */
  readonly size: number | undefined
  /** Of a volume that is made, by id or name. */
  readonly volumeType?: string | undefined
  readonly tag?: string | undefined
  /** A volume is deleted with the server. */
  readonly deletesVolume?: boolean | undefined
}

/** A client's request, checked against the document but not yet against existing objects. */
export interface ServerRequest {
  readonly name: string
  readonly flavorRef: string
  /** Null: none, or ''. */
  readonly imageRef: string | null
  readonly metadata: Readonly<Record<string, string>>
  readonly networks: RequestedNetworks
  /** Names or ids. */
  readonly securityGroups: readonly string[]
  readonly keyName: string | null
  /** Base64, as sent. */
  readonly userData: string | null
  /** Null: one is made. */
  readonly adminPassword: string | null
  readonly configDrive: boolean
  /** `zone`, or `zone:host` from an administrator. */
  readonly availabilityZone: string | null
  /** Hosts an administrator insists on, by name. */
  readonly host: string | null
  readonly hypervisorHostname: string | null
  readonly hostname: string | null
  readonly description: string | null
  readonly tags: readonly string[]
  readonly diskConfig: 'AUTO' | 'MANUAL'
  readonly accessIPv4: string | null
  readonly accessIPv6: string | null
  readonly minCount: number
  readonly maxCount: number
  readonly disks: readonly RequestedDisk[]
  /** Files to be put into the guest before it starts. */
  readonly files: readonly InjectedFile[]
  /** Ids of certificates that a signature of the image may be checked with; null: none are named. */
  readonly trustedCertificates: readonly string[] | null
  readonly hints: Readonly<Record<string, unknown>>
}

/** A DNS label. */
const HOSTNAME_MAX = 63

interface ServerName {
  readonly name: string
  readonly hostname: string
}

/**
 * The name and host name of the server at `index` of `count`. Several get the suffixes -1, -2, … as in Nova. A host
 * name that was asked for is taken as it is.
 */
export function serverName(
  asked: { readonly name: string; readonly hostname: string | null },
  id: string,
  index: number,
  count: number,
): ServerName {
  const suffix = count > 1 ? `-${index + 1}` : ''
  const name = `${asked.name}${suffix}`
  const made = () => sanitizeHostname(name) || sanitizeHostname(`server-${id}`)
  return { name, hostname: asked.hostname ?? made() }
}

/** The part of a name that can be a host name: letters, digits and inner dashes; '' when nothing is left. */
export function sanitizeHostname(name: string): string {
  const text = name
    .toLowerCase()
    .replace(/[\s_.]+/g, '-')
    .replace(/[^a-z0-9-]/g, '')
    .replace(/^-+/, '')
    .slice(0, HOSTNAME_MAX)
  return withoutTrailing(text, '-')
}

/**
 * Throws `over-quota` for more files, longer paths or more content than the project and the user may put into a guest
 * (nova/compute/api.py: `_check_injected_file_quota`).
 */
export async function limitFiles(
  db: Executor,
  owner: ProjectUser,
  files: readonly InjectedFile[],
): Promise<void> {
  if (files.length === 0) return
  const refuseBeyond = async (resource: QuotaResource, used: number, what: string) => {
    const limit = await lowerLimit(db, owner, resource)
    if (limit !== UNLIMITED && used > limit)
      throw new Failure('over-quota', `${what} ${used} exceeds the maximum of ${limit}`)
  }
  const longest = (lengths: readonly number[]) => Math.max(...lengths)
  const paths = files.map(({ path }) => Buffer.byteLength(path))
  const contents = files.map(({ contents: text }) => Buffer.from(text, 'base64').length)
  await refuseBeyond('injected_files', files.length, 'Personality file count')
  await refuseBeyond('injected_file_path_bytes', longest(paths), 'Personality file path length')
  await refuseBeyond(
    'injected_file_content_bytes',
    longest(contents),
    'Personality file content size in bytes',
  )
}
