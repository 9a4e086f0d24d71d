import type { InstanceId } from '#common/ids.ts'

/** Keeps whole machines, each with a BMC, that an operator gives to a host and takes away while it runs. */
export interface Nodes {
  list(signal: AbortSignal): Promise<readonly NodeReport[]>
  /**
   * Afterwards the host has the node and makes it ready for servers by itself, which takes a while. Repeating it
   * changes nothing. Throws `conflict` for a name, MAC address or BMC that another has, `invalid` for malformed
   * values.
   */
  add(node: NewNode, signal: AbortSignal): Promise<NodeReport>
  /** Afterwards the node is being inspected and cleaned again. Throws `not-found`, `conflict` while a server has it. */
  inspect(name: string, signal: AbortSignal): Promise<NodeReport>
  /** Afterwards no further server gets the node, for this reason; null: servers may get it. Throws `not-found`. */
  maintain(name: string, reason: string | null, signal: AbortSignal): Promise<NodeReport>
  /** Afterwards the host does not have the node. Throws `conflict` while a server has it. */
  remove(name: string, signal: AbortSignal): Promise<void>
  /** The present sensor readings of the machine. Throws `not-found`, `unavailable` when its BMC does not answer. */
  sensors(name: string, signal: AbortSignal): Promise<readonly SensorReading[]>
}

export interface NewNode {
  readonly name: string
  /** Of the NIC that it boots from the network with. */
  readonly macAddress: string
  readonly usesEfi: boolean
  /** NICs for servers' ports, beside the one that it boots with; absent: none is known. */
  readonly nics?: readonly SegmentNic[]
  /** Machines of one class stand in for each other; absent: named after what inspection finds. */
  readonly resourceClass?: string
  readonly traits?: readonly string[]
  /** Absent: people switch the machine and set where it boots from. */
  readonly bmc?: NewBmc
}

/** A NIC, and where its cable ends: at `SITE`, or for an access port of VLAN 7 there at `SITE:7`. */
export interface SegmentNic {
  readonly macAddress: string
  readonly segment: string
}

export interface NewBmc {
  readonly address: string
  readonly port: number
  readonly user: string
  readonly password: string
  readonly privilege: 'operator' | 'administrator'
  readonly cipherSuite?: 3 | 17
}

/** A node as it is now. Of its BMC's password, nothing. */
export interface NodeReport extends Pick<NewNode, 'name' | 'macAddress' | 'usesEfi'> {
  readonly nics: readonly SegmentNic[]
  readonly bmc: Pick<NewBmc, 'address' | 'port' | 'user'> | null
  readonly state: string
  /** Why the last work on it failed; null when it did not. */
  readonly failure: string | null
  readonly maintenance: string | null
  readonly instance: InstanceId | null
  /** As last seen. */
  readonly isOn: boolean
  /** Null until it has been inspected, unless an operator named it. */
  readonly resourceClass: string | null
  readonly traits: readonly string[]
  /** What inspection found; null before. */
  readonly parts: MachineParts | null
}

/** The parts of a machine, as its own kernel sees them. */
export interface MachineParts {
  readonly cpus: number
  readonly cpuModel: string
  readonly architecture: string
  readonly memoryMb: number
  readonly disks: readonly { readonly name: string; readonly sizeBytes: number }[]
  readonly macAddresses: readonly string[]
}

export interface SensorReading {
  readonly name: string
  readonly unit: string | null
  /** Null while it measures nothing, such as in a machine that is off. */
  readonly value: number | null
}
