/** What a host sends to another one, in a tunnel of its own, to see whether the network between them carries tunnels. */
export interface TunnelQuestion {
  /** Where the tunnels of the other host end. */
  readonly peer: string
  /** Of the tunnel: the same at both hosts, and of no network. 24 bits. */
  readonly key: number
  /** Of the large packets on the network between the hosts, with all headers of IP. */
  readonly packetBytes: number
  readonly forMs: number
}

/** What came from the other host. */
export interface ReceivedProbes {
  readonly small: boolean
  /** Packets of `packetBytes`. */
  readonly large: boolean
}

/** The tunnels of a host. */
export interface Tunnels {
  /**
   * Sends to the other host, and says what came from it. That host does the same at the same time. Throws `unavailable`
   * while the host's switch does not answer, `unsupported` if its tunnels cannot be tested.
   */
  test(question: TunnelQuestion, signal: AbortSignal): Promise<ReceivedProbes>
}
