import type { Socket } from 'node:net'
import type { NetworkId } from '#common/ids.ts'

/** Leads what guests send to the metadata service (169.254.169.254, fe80::a9fe:a9fe) to this process. */
export interface GuestMetadata {
  /** Begins with no network. `onConnection` gets each connection, with the network that it comes from. */
  open(onConnection: (connection: Socket, networkId: NetworkId) => void): ServedNetworks
}

/** Disposing ends the listeners of all networks. */
export interface ServedNetworks extends AsyncDisposable {
  /**
   * Afterwards guests of these networks on this host, and of no others, reach the listener; repeated, it repairs what
   * has gone. Throws `unavailable` while the host's switch is away, `unsupported` without the programs that it needs.
   */
  serve(networks: ReadonlySet<NetworkId>, signal: AbortSignal): Promise<void>
}
