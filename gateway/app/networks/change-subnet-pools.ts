import { Failure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import {
  allocationsOf,
  deleteSubnetPoolRow,
  insertSubnetPool,
  lockSubnetPool,
  type SubnetPool,
  updateSubnetPool as writePool,
} from '../../db/subnet-pools.ts'
import type { Requester } from '../requester.ts'
import { retryStale } from '../retry-stale.ts'
import { type Cidr, formatIp, parseCidr } from './ip.ts'
import type { Networks } from './list-networks.ts'
import { NetworkFailure } from './network-failure.ts'
import { charge, refund } from './quotas.ts'
import { holdRevision } from './revision.ts'
import { ownSubnetPool, poolNotFound } from './subnet-pools.ts'
import { ownerOf } from './visible.ts'

/** A subnet pool as requests write it. */
export interface SubnetPoolFields {
  readonly name?: string
  readonly description?: string
  readonly prefixes?: readonly string[]
  readonly default_prefixlen?: number
  readonly min_prefixlen?: number
  readonly max_prefixlen?: number
  readonly default_quota?: number | null
  readonly is_default?: boolean
}

export interface SubnetPoolDraft extends SubnetPoolFields {
  readonly project_id?: string
  readonly tenant_id?: string
  readonly shared?: boolean
}

/**
 * Afterwards all of these pools exist, or none. Throws `invalid` for prefixes and lengths that contradict each other,
 * `forbidden` for attributes of administrators, `conflict` for a second default pool, `over-quota`.
 */
export async function createSubnetPools(
  networks: Networks,
  requester: Requester,
  drafts: readonly SubnetPoolDraft[],
): Promise<readonly SubnetPool[]> {
  const made = drafts.map((draft) => newPool(networks, requester, draft))
  await networks.db.transaction(async (tx) => {
    for (const pool of made) {
      if (!(await insertSubnetPool(tx, pool))) throw defaultExists(pool)
      await charge(tx, pool.projectId, 'subnetpool')
    }
  })
  return made
}

function newPool({ clock }: Networks, requester: Requester, draft: SubnetPoolDraft): SubnetPool {
  const now = new Date(clock.now())
  const prefixes = (draft.prefixes ?? []).map((text) => parseCidr(text, 'prefixes'))
  const version = prefixes[0]?.version ?? 4
  if (draft.shared === true && !requester.isAdmin)
    throw new Failure('forbidden', 'Only an administrator may set shared.')
  const minLength = draft.min_prefixlen ?? (version === 4 ? 8 : 64)
  const blank: SubnetPool = {
    id: newId(),
    projectId: ownerOf(requester, draft.project_id ?? draft.tenant_id),
    name: '',
    description: '',
    createdAt: now,
    updatedAt: now,
    revision: 1,
    tags: [],
    ipVersion: version,
    prefixes: [],
    minLength,
    maxLength: version === 4 ? 32 : 128,
    defaultLength: minLength,
    projectQuota: null,
    isShared: draft.shared ?? false,
    isDefault: false,
  }
  return withFields(requester, blank, { prefixes: [], ...draft })
}

function withFields(
  requester: Requester,
  before: SubnetPool,
  fields: SubnetPoolFields,
): SubnetPool {
  const isDefault = fields.is_default ?? before.isDefault
  if (isDefault !== before.isDefault && !requester.isAdmin)
    throw new Failure('forbidden', 'Only an administrator may set is_default.')
  const after: SubnetPool = {
    ...before,
    name: fields.name ?? before.name,
    description: fields.description ?? before.description,
    prefixes: fields.prefixes === undefined ? before.prefixes : prefixesOf(before, fields.prefixes),
    minLength: fields.min_prefixlen ?? before.minLength,
    maxLength: fields.max_prefixlen ?? before.maxLength,
    defaultLength: fields.default_prefixlen ?? before.defaultLength,
    projectQuota: fields.default_quota === undefined ? before.projectQuota : fields.default_quota,
    isDefault,
  }
  refuseBounds(after)
  return after
}

/** Those that are within no other, ascending. */
function prefixesOf({ ipVersion }: SubnetPool, given: readonly string[]): readonly string[] {
  if (given.length === 0)
    throw invalid('EmptySubnetPoolPrefixList', 'Empty subnet pool prefix list.')
  const cidrs = given.map((text) => parseCidr(text, 'prefixes'))
  if (cidrs.some(({ version }) => version !== ipVersion))
    throw invalid('PrefixVersionMismatch', 'Cannot mix IPv4 and IPv6 prefixes in a subnet pool.')
  const kept: Cidr[] = []
  for (const cidr of cidrs.toSorted(byPlace))
    if (!kept.some(({ first, last }) => first <= cidr.first && cidr.last <= last)) kept.push(cidr)
  return kept.map(({ version, first, prefix }) => `${formatIp(version, first)}/${prefix}`)
}

/** Of prefixes with the same first address, the wider comes first. */
function byPlace(a: Cidr, b: Cidr): number {
  if (a.first !== b.first) return a.first < b.first ? -1 : 1
  return a.prefix - b.prefix
}

function refuseBounds({ ipVersion, minLength, maxLength, defaultLength }: SubnetPool): void {
  const bits = ipVersion === 4 ? 32 : 128
  const wrong =
    maxLength > bits
      ? `max_prefixlen=${maxLength}, ip_version=${ipVersion}`
      : minLength > maxLength
        ? `min_prefixlen=${minLength}, max_prefixlen=${maxLength}`
        : defaultLength < minLength
          ? `default_prefixlen=${defaultLength}, min_prefixlen=${minLength}`
          : defaultLength > maxLength
            ? `default_prefixlen=${defaultLength}, max_prefixlen=${maxLength}`
            : undefined
  if (wrong !== undefined)
    throw invalid('IllegalSubnetPoolPrefixBounds', `Illegal prefix bounds: ${wrong}.`)
}

/**
 * Afterwards the pool has these fields; subnets taken from it stay. Throws `invalid` for prefixes that leave out a former one, and as the
 * creation does.
 */
export function updateSubnetPool(
  networks: Networks,
  ...asked: [
    requester: Requester,
    id: string,
    fields: SubnetPoolFields,
    wantedRevision?: number | undefined,
  ]
): Promise<SubnetPool> {
  return retryStale(networks.clock, () => changePool(networks, ...asked))
}

async function changePool(
  networks: Networks,
  requester: Requester,
  id: string,
  fields: SubnetPoolFields,
  wantedRevision?: number,
): Promise<SubnetPool> {
  const before = await ownSubnetPool(networks, requester, id)
  const after = withFields(requester, before, fields)
  const isKept = (text: string) => {
    const old = parseCidr(text, 'prefixes')
    return after.prefixes.some((each) => {
      const { first, last } = parseCidr(each, 'prefixes')
      return first <= old.first && old.last <= last
    })
  }
  if (!before.prefixes.every(isKept))
    throw invalid(
      'IllegalSubnetPoolPrefixUpdate',
      'Illegal update to prefixes: Existing prefixes must be a subset of the new prefixes.',
    )
  const now = new Date(networks.clock.now())
  await networks.db.transaction(async (tx) => {
    await holdRevision(tx, 'subnetpools', id, wantedRevision)
    if (!(await writePool(tx, after, now))) throw defaultExists(after)
  })
  return { ...after, updatedAt: now, revision: after.revision + 1 }
}

/** Afterwards the pool is gone. Throws `invalid`, as Neutron does, while it has subnets. */
export async function deleteSubnetPool(
  networks: Networks,
  requester: Requester,
  id: string,
  wantedRevision?: number,
): Promise<void> {
  const { projectId } = await ownSubnetPool(networks, requester, id)
  await networks.db.transaction(async (tx) => {
    if ((await lockSubnetPool(tx, id)) === undefined) throw poolNotFound(id)
    await holdRevision(tx, 'subnetpools', id, wantedRevision)
    if ((await allocationsOf(tx, id)).length > 0)
      throw invalid(
        'SubnetPoolDeleteError',
        'Unable to delete subnet pool: Subnet pool has existing allocations.',
      )
    await deleteSubnetPoolRow(tx, id)
    refund(tx, projectId, 'subnetpool')
  })
}

function defaultExists({ ipVersion }: SubnetPool): Failure {
  return new Failure(
    'conflict',
    `A default subnetpool for IPv${ipVersion} has already been set. Only one default may exist per IP family.`,
  )
}

function invalid(type: string, message: string): NetworkFailure {
  return new NetworkFailure('invalid', type, message)
}
