import { Failure, isFailure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import type { InstanceReport, Owner } from '../../driver.ts'
import { isOwnStamp } from '../ownership.ts'
import type { DomainRef } from '../rpc/refs.ts'
import { uuidText } from '../rpc/uuid-bytes.ts'
import { elementsAt, parseXml } from '../xml/parse.ts'
import type { DomainCalls } from './domain-calls.ts'
import { endedWithHost, hasIoError, powerStateOf } from './power-state.ts'

/** The domain of an instance, if it belongs to this owner; domains of others count as absent. */
export async function findOwnDomain(
  calls: DomainCalls,
  owner: Owner,
  id: InstanceId,
  signal: AbortSignal,
): Promise<DomainRef | undefined> {
  const domain = await calls.find(id, signal)
  if (domain === undefined || !(await isOwn(calls, owner, domain, signal))) return undefined
  return domain
}

/** As `findOwnDomain`, and throws `not-found` when there is none. */
export async function getOwnDomain(
  calls: DomainCalls,
  owner: Owner,
  id: InstanceId,
  signal: AbortSignal,
): Promise<DomainRef> {
  const domain = await findOwnDomain(calls, owner, id, signal)
  if (domain === undefined)
    throw new Failure('not-found', `Instance ${id} could not be found on this host.`)
  return domain
}

/** Which disks of a domain that QEMU has paused have no room; undefined: none. */
type NoSpaceOf = (domain: DomainRef, signal: AbortSignal) => Promise<string | undefined>

/** Every domain of this owner with its power state. One that vanishes meanwhile is left out. */
export async function listOwnDomains(
  calls: DomainCalls,
  owner: Owner,
  noSpaceOf: NoSpaceOf,
  signal: AbortSignal,
): Promise<readonly InstanceReport[]> {
  const domains = await calls.list(signal)
  const reports = await Promise.all(
    domains.map((domain) => report({ calls, owner, noSpaceOf }, domain, signal)),
  )
  return reports.filter((found) => found !== undefined)
}

/** The instance of a domain, of any owner: both have the same UUID. */
export function instanceOfDomain(domain: DomainRef): InstanceId {
  return uuidText(domain.uuid) as InstanceId
}

/** True when the domain bears the stamp of this owner. */
export async function isOwn(
  calls: DomainCalls,
  owner: Owner,
  domain: DomainRef,
  signal: AbortSignal,
): Promise<boolean> {
  const metadata = await calls.metadata(domain, signal)
  if (metadata === undefined) return false
  return isOwnStamp(elementsAt(parseXml(metadata), 'owned')[0], owner, instanceOfDomain(domain))
}

async function report(
  {
    calls,
    owner,
    noSpaceOf,
  }: { readonly calls: DomainCalls; readonly owner: Owner; readonly noSpaceOf: NoSpaceOf },
  domain: DomainRef,
  signal: AbortSignal,
): Promise<InstanceReport | undefined> {
  const id = instanceOfDomain(domain)
  if (!(await isOwn(calls, owner, domain, signal))) return undefined
  try {
    const state = await calls.state(domain, signal)
    const report = { id, powerState: powerStateOf(state) }
    const noSpace = hasIoError(state) ? await noSpaceOf(domain, signal) : undefined
    if (noSpace !== undefined) return { ...report, noSpace }
    return endedWithHost(state) ? { ...report, endedWithHost: true } : report
  } catch (error) {
    if (isFailure(error, 'not-found')) return undefined
    throw error
  }
}
