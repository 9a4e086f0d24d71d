import { randomUUID } from 'node:crypto'
import { Failure, isFailure } from '#common/errors.ts'
import { type HostId, isUuid } from '#common/ids.ts'
import type { StoreReport } from '../../../volumes.ts'
import type { XmlTree } from '../../xml/parse.ts'
import type { PoolCalls } from '../pool-calls.ts'
import type { IscsiLogin } from './iscsi-login.ts'
import { type IscsiPool, parseIscsiPool } from './iscsi-pool.ts'
import { IscsiSession } from './iscsi-session.ts'
import { freeAbandoned, isFree } from './lun-claims.ts'
import { newLabel } from './lun-label.ts'
import { contentBytes, isLabelled, type LabelledLun, type Lun, readLuns, relabel } from './luns.ts'

/** A storage pool that is the LUNs of an iSCSI target. Its room is as it was seen last. */
export interface IscsiStore extends StoreReport {
  readonly engine: 'iscsi'
  readonly source: IscsiPool
  readonly login: IscsiLogin
}

interface Seen {
  readonly configured: string
  readonly store: IscsiStore
}

/** Hosts that see a target for the first time may want to name it at once. */
const TRIES_MAX = 3

/** Targets as a host has them. The daemon's own pool need not run: only its definition is read. */
export class IscsiPools {
  readonly #hostId: HostId
  readonly #calls: PoolCalls
  readonly #seen = new Map<string, Seen>()

  constructor(hostId: HostId, calls: PoolCalls) {
    this.#hostId = hostId
    this.#calls = calls
  }

  /** As it was seen last, if it is the same target still; one that was not seen is looked at. */
  async known(name: string, xml: XmlTree, signal: AbortSignal): Promise<IscsiStore> {
    const seen = this.#seen.get(name)
    const isSame = seen?.configured === JSON.stringify(parseIscsiPool(name, xml))
    return isSame ? seen.store : this.look(name, xml, signal)
  }

  /** Its identity and room, as its LUNs say now. Throws `internal` where the target does not answer. */
  async look(name: string, xml: XmlTree, signal: AbortSignal): Promise<IscsiStore> {
    const source = parseIscsiPool(name, xml)
    const login = await this.#loginOf(source, signal)
    const luns = await identifiedLuns(name, login, this.#hostId, signal).catch((cause: unknown) => {
      // `unavailable` would say that of the hypervisor, and so of every other store.
      if (!isFailure(cause, 'unavailable')) throw cause
      const detail = cause.detail ?? ''
      const message = `The iSCSI target of storage pool ${name} does not answer.`
      throw new Failure('internal', message, { cause, detail })
    })
    const own = luns.filter(isLabelled)
    const free = luns.filter((lun) => isFree(lun))
    const sum = (of: readonly Lun[]) => of.reduce((bytes, lun) => bytes + contentBytes(lun), 0)
    const store: IscsiStore = {
      ...{ id: own[0]!.label.store, name, engine: 'iscsi', isShared: true, multiattach: false },
      encrypts: false,
      lacks: ['snapshots', 'extend-in-use', 'copy-in-use'],
      totalBytes: sum(own) + sum(luns.filter(({ label }) => label === 'blank')),
      freeBytes: sum(free),
      largestVolumeBytes: Math.max(0, ...free.map(contentBytes)),
      ...{ source, login },
    }
    this.#seen.set(name, { configured: JSON.stringify(source), store })
    return store
  }

  async #loginOf({ portal, target, initiator, login }: IscsiPool, signal: AbortSignal) {
    if (login === undefined) return { portal, target, initiator }
    const password = Buffer.from(await this.#calls.iscsiPassword(login.secret, signal)).toString()
    return { portal, target, initiator, chap: { user: login.user, password } }
  }
}

/**
 * The LUNs, at least one of which says which store they are: the first host that finds none that does names the store on a
 * blank one. Throws `not-found` where there is none that Weir may have, and `conflict` for LUNs of several stores.
 */
async function identifiedLuns(
  name: string,
  login: IscsiLogin,
  hostId: HostId,
  signal: AbortSignal,
): Promise<readonly Lun[]> {
  using session = await IscsiSession.open(login, signal)
  for (let tries = 1; ; tries += 1) {
    const luns = await readLuns(session)
    const stores = new Set(luns.filter(isLabelled).map(({ label }) => label.store))
    if (stores.size > 1)
      throw new Failure(
        'conflict',
        `Storage pool ${name} has LUNs of several stores: ${lunsByStore(luns.filter(isLabelled))}.`,
      )
    if (stores.size === 1) {
      await freeAbandoned(session, luns, hostId)
      return luns
    }
    const blank = luns.find(({ label }) => label === 'blank')
    if (blank === undefined || tries > TRIES_MAX) throw noLun(name, luns)
    await relabel(session, blank, newLabel(randomUUID()))
  }
}

function lunsByStore(luns: readonly LabelledLun[]): string {
  const stores = Map.groupBy(luns, ({ label }) => label.store)
  return [...stores]
    .map(
      ([store, of]) =>
        `LUN ${of.map(({ number }) => number).join(', ')} of store ${isUuid(store) ? store : '?'}`,
    )
    .join('; ')
}

function noLun(name: string, luns: readonly Lun[]): Failure {
  const others = luns.map(({ number }) => number).join(', ')
  const why = others === '' ? 'the target has none' : `LUN ${others}: others have written there`
  return new Failure('not-found', `Storage pool ${name} has no LUN for volumes: ${why}.`)
}
