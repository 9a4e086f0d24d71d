/** What a host's switch has counted for one interface since it has the interface. */
export interface InterfaceCounters {
  readonly packets: number
  readonly bytes: number
  readonly dropped: number
  readonly errors: number
}

interface Counted {
  /** What the switch received from the interface: what a guest sent, or what came out of a tunnel. */
  readonly received: InterfaceCounters
  /** What the switch sent to the interface. */
  readonly sent: InterfaceCounters
}

export interface PortStatistics extends Counted {
  readonly portId: string
}

export interface TunnelStatistics extends Counted {
  /** The name of the other host in OVN, which is its id. */
  readonly remoteHost: string
  /** Where the tunnel ends. */
  readonly address: string
  /** True if the other host answers; null for a tunnel that OVN does not probe. */
  readonly isUp: boolean | null
}

/** The counters of a host's switch. */
export interface NetworkStatistics {
  /** Of all interfaces now. Throws `unavailable` while the switch is away. */
  read(signal: AbortSignal): Promise<{
    readonly ports: readonly PortStatistics[]
    readonly tunnels: readonly TunnelStatistics[]
  }>
}
