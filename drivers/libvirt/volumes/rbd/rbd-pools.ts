import { randomUUID } from 'node:crypto'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure, isFailure } from '#common/errors.ts'
import type { StoreReport } from '../../../volumes.ts'
import type { XmlTree } from '../../xml/parse.ts'
import type { PoolCalls } from '../pool-calls.ts'
import { cephJson, type RbdClient } from './rbd-client.ts'
import { clientConfiguration, keyringOf, parseRbdPool, type RbdPool } from './rbd-pool.ts'

/** A storage pool that is a pool of a Ceph cluster. Its room is as it was seen last. */
export interface RbdStore extends StoreReport, RbdClient {
  readonly engine: 'rbd'
  /** The id of the cluster. */
  readonly fsid: string
  readonly source: RbdPool
}

interface Usage {
  readonly pools: readonly {
    readonly id: number
    readonly name: string
    readonly stats: { readonly stored: number; readonly max_avail: number }
  }[]
}

interface Seen {
  readonly configured: string
  readonly store: RbdStore
  /** By the clock of `performance`. */
  readonly at: number
}

/** Pools of Ceph as a host has them. The daemon's own pool need not run: its storage part would wait for a silent cluster. */
export class RbdPools {
  readonly #directory: string
  readonly #programs: string | undefined
  readonly #calls: PoolCalls
  readonly #seen = new Map<string, Seen>()

  /** `directory`: for the settings and keys of Ceph's programs; `programs`: as in `RbdClient`. */
  constructor(directory: string, programs: string | undefined, calls: PoolCalls) {
    this.#directory = directory
    this.#programs = programs
    this.#calls = calls
  }

  /** As it was seen last, if it is the same pool still; a pool that was not seen is looked at. */
  async known(name: string, xml: XmlTree, signal: AbortSignal): Promise<RbdStore> {
    const seen = this.#seen.get(name)
    const isSame = seen?.configured === JSON.stringify(parseRbdPool(name, xml))
    return isSame ? seen.store : this.look(name, xml, signal)
  }

  /** As it was seen last, if that is no longer ago; undefined: it was not. */
  recent(name: string, withinMs: number): RbdStore | undefined {
    const seen = this.#seen.get(name)
    return seen !== undefined && performance.now() - seen.at < withinMs ? seen.store : undefined
  }

  /** Its identity and room, as the cluster says now. Throws `internal` where that does not answer. */
  async look(name: string, xml: XmlTree, signal: AbortSignal): Promise<RbdStore> {
    const source = parseRbdPool(name, xml)
    const client = await this.#clientOf(name, source, signal)
    const seen = this.#seen.get(name)
    const isSame = seen?.configured === JSON.stringify(source)
    const [{ fsid }, { pools }] = await Promise.all([
      isSame ? seen.store : cephJson<{ readonly fsid: string }>(client, ['fsid'], { signal }),
      cephJson<Usage>(client, ['df'], { signal }),
    ]).catch((cause: unknown) => {
      // `unavailable` would say that of the hypervisor, and so of every other store.
      if (!isFailure(cause, 'unavailable')) throw cause
      const detail = cause.detail ?? ''
      throw new Failure('internal', `The Ceph of storage pool ${name} does not answer.`, {
        ...{ cause, detail },
      })
    })
    const found = pools.find((each) => each.name === source.pool)
    if (found === undefined)
      throw new Failure('not-found', `The cluster ${fsid} has no pool ${source.pool}.`)
    const { stored, max_avail: freeBytes } = found.stats
    const store: RbdStore = {
      ...{ id: `${fsid}-${found.id}`, name, engine: 'rbd', isShared: true, multiattach: true },
      encrypts: true,
      ...{ totalBytes: stored + freeBytes, freeBytes },
      ...client,
      ...{ fsid, source },
    }
    this.#seen.set(name, { configured: JSON.stringify(source), store, at: performance.now() })
    return store
  }

  /** Afterwards Ceph's programs find their settings, and the key that libvirt's secret has now. */
  async #clientOf(name: string, source: RbdPool, signal: AbortSignal): Promise<RbdClient> {
    const folder = join(this.#directory, encodeURIComponent(name))
    const [keyring, configuration] = [join(folder, 'keyring'), join(folder, 'ceph.conf')]
    const { login } = source
    const key = login && (await this.#calls.cephKey(login.secret, signal))
    await mkdir(folder, { recursive: true, mode: 0o700 })
    if (key !== undefined) await replaceFile(keyring, keyringOf(source, key))
    await replaceFile(configuration, clientConfiguration(source, keyring))
    return { programs: this.#programs, pool: source.pool, configuration, user: login?.user }
  }
}

async function replaceFile(path: string, text: string): Promise<void> {
  const next = `${path}.${randomUUID()}`
  await writeFile(next, text, { mode: 0o600 })
  await rename(next, path)
}
