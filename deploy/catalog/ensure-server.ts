import { waitFor } from '#common/wait-for.ts'
import { callApi, type Session } from '../api/session.ts'

interface ServerAnswer {
  readonly id: string
  readonly status: string
  readonly fault?: { readonly message: string }
}

export interface FirstServer {
  readonly name: string
  readonly flavor: string
  readonly image: string
  readonly network: string
  /** The key pair that lets its owner in. Absent: none. */
  readonly keyName?: string | undefined
}

const BOOT_LIMIT_MS = 180_000

/** Afterwards a server of this name is ACTIVE, in place of one that failed. Throws when it ends in ERROR, or is not ACTIVE in time. */
export async function ensureServer(demo: Session, first: FirstServer): Promise<void> {
  const { servers } = await callApi<{ servers: readonly ServerAnswer[] }>(demo, {
    method: 'GET',
    path: `/compute/v2.1/servers/detail?name=^${first.name}$`,
  })
  const [old] = servers
  if (old?.status === 'ERROR') await remove(demo, old.id)
  const { id } = old === undefined || old.status === 'ERROR' ? await create(demo, first) : old
  const server = await waitFor(
    `server ${first.name} to be ACTIVE`,
    async () => {
      const answer = await callApi<{ server: ServerAnswer }>(demo, {
        method: 'GET',
        path: `/compute/v2.1/servers/${id}`,
      })
      return answer.server.status === 'BUILD' ? null : answer.server
    },
    BOOT_LIMIT_MS,
  )
  if (server.status === 'ERROR')
    throw new Error(`Server ${first.name} failed: ${server.fault?.message ?? 'no reason given'}`)
}

async function remove(demo: Session, id: string): Promise<void> {
  await callApi(demo, { method: 'DELETE', path: `/compute/v2.1/servers/${id}` })
}

async function create(demo: Session, first: FirstServer): Promise<ServerAnswer> {
  const [flavorRef, imageRef, network] = await Promise.all([
    idOf(demo, '/compute/v2.1/flavors', 'flavors', first.flavor),
    idOf(demo, `/image/v2/images?name=${first.image}`, 'images', first.image),
    idOf(demo, `/networking/v2.0/networks?name=${first.network}`, 'networks', first.network),
  ])
  const answer = await callApi<{ server: ServerAnswer }>(demo, {
    method: 'POST',
    path: '/compute/v2.1/servers',
    body: {
      server: {
        ...{ name: first.name, flavorRef, imageRef, networks: [{ uuid: network }] },
        ...(first.keyName !== undefined && { key_name: first.keyName }),
      },
    },
  })
  return answer.server
}

async function idOf(demo: Session, path: string, key: string, name: string): Promise<string> {
  const answer = await callApi<
    Readonly<Record<string, readonly { readonly id: string; readonly name: string }[]>>
  >(demo, { method: 'GET', path })
  const hit = answer[key]?.find((each) => each.name === name)
  if (hit === undefined) throw new Error(`There is no ${name} among the ${key}`)
  return hit.id
}
