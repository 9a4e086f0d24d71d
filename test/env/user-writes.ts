import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Answer, ApiClient } from './api/client.ts'
import type { Cloud } from './cloud.ts'
import type { Refused } from './steady-load.ts'

interface Maker {
  readonly who: 'admin' | 'demo'
  /** Makes an object, uses it, and deletes it. */
  readonly live: (ask: Ask, name: string, remove: Remove) => Promise<void>
}

/** Sends one request and returns its answer, whose status must be the one given. */
type Ask = <T>(status: number, call: (user: ApiClient) => Promise<Answer<T>>) => Promise<T>

/** Sends the request that deletes an object. */
type Remove = (path: string) => Promise<void>

type Made = Readonly<Record<string, { readonly id: string }>>

const VOLUMES = '/volume/v3/volumes'
const POLL_MS = 50
const AVAILABLE_LIMIT_MS = 60_000

async function untilAvailable(ask: Ask, path: string): Promise<void> {
  const signal = AbortSignal.timeout(AVAILABLE_LIMIT_MS)
  for (;;) {
    const { volume } = await ask<{ volume: { status: string } }>(200, (user) => user.get(path))
    if (volume.status === 'available') return
    if (volume.status.startsWith('error')) throw new Error(`volume: it is in ${volume.status}`)
    if (signal.aborted) throw new Error(`volume: it has been ${volume.status} for too long`)
    await sleep(POLL_MS)
  }
}

/** User writes beside those of servers, by kind. */
const KINDS: Readonly<Record<string, Maker>> = {
  network: {
    who: 'demo',
    live: async (ask, name, remove) => {
      const network = await ask<Made>(201, (user) =>
        user.post('/networking/v2.0/networks', { network: { name } }),
      )
      const id = network['network']!.id
      const subnet = { network_id: id, ip_version: 4, cidr: '10.99.0.0/24' }
      await ask(201, (user) => user.post('/networking/v2.0/subnets', { subnet }))
      const port = await ask<Made>(201, (user) =>
        user.post('/networking/v2.0/ports', { port: { network_id: id } }),
      )
      await remove(`/networking/v2.0/ports/${port['port']!.id}`)
      await remove(`/networking/v2.0/networks/${id}`)
    },
  },
  keypair: {
    who: 'demo',
    live: async (ask, name, remove) => {
      await ask(200, (user) => user.post('/compute/v2.1/os-keypairs', { keypair: { name } }))
      await remove(`/compute/v2.1/os-keypairs/${name}`)
    },
  },
  image: {
    who: 'demo',
    live: async (ask, name, remove) => {
      const image = { name, disk_format: 'raw', container_format: 'bare' }
      const { id } = await ask<{ id: string }>(201, (user) => user.post('/image/v2/images', image))
      const headers = { 'content-type': 'application/octet-stream' }
      const raw = randomBytes(64 * 1024)
      await ask(204, (user) => user.put(`/image/v2/images/${id}/file`, undefined, { raw, headers }))
      await remove(`/image/v2/images/${id}`)
    },
  },
  volume: {
    who: 'demo',
    live: async (ask, name, remove) => {
      const made = await ask<Made>(202, (user) => user.post(VOLUMES, { volume: { name, size: 1 } }))
      const path = `${VOLUMES}/${made['volume']!.id}`
      await untilAvailable(ask, path)
      const metadata = { named: name }
      await ask(200, (user) => user.call('POST', `${path}/metadata`, { metadata }))
      await ask(202, (user) => user.post(`${path}/action`, { 'os-extend': { new_size: 2 } }))
      await untilAvailable(ask, path)
      await remove(path)
    },
  },
  user: {
    who: 'admin',
    live: async (ask, name, remove) => {
      const made = await ask<Made>(201, (user) =>
        user.post('/identity/v3/users', { user: { name, password: randomUUID() } }),
      )
      const path = `/identity/v3/users/${made['user']!.id}`
      await ask(200, (user) => user.call('PATCH', path, { user: { description: name } }))
      await remove(path)
    },
  },
}

/** Users who make, change and delete objects of every kind, one of each kind at a time, until they are stopped. */
export class UserWrites {
  readonly refused: Refused[] = []
  /** Requests that had the answer they should have. */
  answered = 0
  readonly #startedAt = performance.now()
  readonly #users: Readonly<Record<'admin' | 'demo', ApiClient>>
  readonly #work: Promise<unknown>
  #isOver = false

  constructor(cloud: Cloud, proxy: string) {
    const { admin, demo } = cloud.foundation.accounts
    this.#users = {
      admin: new ApiClient(admin, () => [proxy]),
      demo: new ApiClient(demo, () => [proxy]),
    }
    this.#work = Promise.all(Object.entries(KINDS).map(([kind, maker]) => this.#use(kind, maker)))
  }

  async end(): Promise<void> {
    this.#isOver = true
    await this.#work
    await Promise.all(Object.values(this.#users).map((user) => user[Symbol.asyncDispose]()))
  }

  async #use(kind: string, { who, live }: Maker): Promise<void> {
    for (let nth = 1; !this.#isOver; nth += 1)
      await live(
        (status, call) => this.#ask(kind, status, () => call(this.#users[who])),
        `w-${kind}-${nth}`,
        (path) => this.#remove(kind, who, path),
      ).catch((error: unknown) => {
        const at = Math.round((performance.now() - this.#startedAt) / 100) / 10
        this.refused.push({ at, what: kind, how: String(error).slice(0, 300) })
      })
  }

  async #ask<T>(kind: string, status: number, call: () => Promise<Answer<T>>): Promise<T> {
    const answer = await call()
    if (answer.status !== status)
      throw new Error(`${kind}: ${answer.status} ${JSON.stringify(answer.body)}`)
    this.answered += 1
    return answer.body
  }

  async #remove(kind: string, who: Maker['who'], path: string): Promise<void> {
    const { status, body } = await this.#users[who].delete(path)
    if (status !== 202 && status !== 204)
      throw new Error(`${kind}: ${status} ${JSON.stringify(body)}`)
    this.answered += 1
  }
}
