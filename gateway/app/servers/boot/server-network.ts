import type { Executor, Tx } from '#common/db/database.ts'
import type { CellId } from '#common/ids.ts'
import type { InstanceBuild, InstanceView } from '#openapi/wire/instance.ts'
import type { Network } from '../../../db/network.ts'
import type { ServerAddress } from '../list/server-record.ts'

export type Nic = InstanceBuild['nics'][number]

/** The NICs of a server, once its ports exist. */
export interface ServerNics {
  readonly nics: InstanceBuild['nics']
  readonly addresses: Readonly<Record<string, readonly ServerAddress[]>>
}

/** The NICs that every server of one request is to have, decided and not yet made. */
export interface NicsPlan {
  readonly networks: readonly Network[]
  /** Names, as the server shows them. */
  readonly securityGroups: readonly string[]
  /** True when some of them, or of a user's ports, is not the project's `default`. */
  readonly needsFirewall: boolean
  /** Part of the caller's transaction. Throws `conflict` when an address or port was taken meanwhile, `over-quota`. */
  allocate(tx: Tx, serverId: string, zone: string | null): Promise<ServerNics>
  /** Undefined where the NICs cannot be made without looking. */
  readonly quick: QuickNicsPlan | undefined
}

/** The same in statements that go out with the commit; the transaction fails where `allocate` would do more than usual. */
export interface QuickNicsPlan {
  place(tx: Tx, serverId: string, zone: string | null): ServerNics
  /** Counts what so many servers take: to be called last. */
  charge(tx: Tx, servers: number): void
  /** True where `allocate` may succeed or knows what to say. */
  isRefusal(error: unknown): boolean
}

/** The network service, as far as servers that exist need it. */
export interface ServerNetwork {
  /** The networks of the server's NICs, each once. */
  networksOf(db: Executor, serverId: string): Promise<readonly Network[]>
  /**
   * Afterwards the ports of these servers, whose views from the cell were applied, are bound to their hosts, and show what
   * NICs they are there.
   */
  bind(tx: Tx, cellId: CellId, views: readonly InstanceView[]): Promise<void>
  /** The server's NICs as they are now, in order, in the form for its cell. */
  nicsOf(db: Executor, serverId: string): Promise<readonly Nic[]>
  /** The server's NIC on this port in the form for its cell; undefined if it has none there. */
  nicOf(tx: Tx, serverId: string, portId: string): Promise<Nic | undefined>
  /** Afterwards the port of a NIC that was plugged in is bound to the server's host, and shows whether it works there. */
  bindNic(tx: Tx, serverId: string, portId: string): Promise<void>
  /** Afterwards the server has no NIC on the port, and shows that: a port of its own is gone, a user's is free. */
  releaseNic(tx: Tx, serverId: string, portId: string): Promise<void>
  /** Afterwards nothing of the network belongs to the servers: their own ports are gone, the users' are free. */
  release(tx: Tx, serverIds: readonly string[]): Promise<void>
}
