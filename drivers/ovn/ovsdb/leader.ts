import { Failure } from '#common/errors.ts'
import type { OvsdbConnection } from './connection.ts'

/** The database in which a server describes those that it serves (ovsdb-server(5)). */
const SERVER = '_Server'
const MONITOR = 'weir-leader'
const COLUMNS = ['name', 'model', 'connected', 'leader']

interface Served {
  readonly name?: string
  readonly model?: string
  readonly connected?: boolean
  readonly leader?: boolean
}
type Changes = Readonly<Record<string, Readonly<Record<string, { readonly new?: Served }>>>>

/**
 * Afterwards the server is the leader of the database, or serves it alone. Throws `unavailable` for any other member of
 * a cluster: its rows may be old, and a member that is cut off from the others takes no change.
 */
export async function requireLeader(connection: OvsdbConnection, name: string): Promise<void> {
  const asked = [SERVER, MONITOR, { Database: [{ columns: COLUMNS }] }]
  const found = (await connection.call('monitor', asked)) as Changes
  if (isFollower(found, name))
    throw new Failure('unavailable', `The OVSDB server is not the leader of ${name} now.`)
}

/** True for a notification by which the server says that it is no longer the leader of the database. */
export function hasLostLead(method: string, params: readonly unknown[], name: string): boolean {
  return method === 'update' && params[0] === MONITOR && isFollower(params[1] as Changes, name)
}

function isFollower({ Database: databases = {} }: Changes, name: string): boolean {
  return Object.values(databases).some(({ new: served }) => {
    const isClustered = served?.name === name && served.model === 'clustered'
    return isClustered && !(served.connected === true && served.leader === true)
  })
}
