import { type Static, Type } from 'typebox'
import { Nullable, OneOf, Uuid } from './scalars.ts'

const Name = Type.String({ minLength: 1, maxLength: 63 })
const Port = Type.Integer({ minimum: 1, maximum: 65_535 })

/** A NIC of a machine for servers' ports, and where its cable ends: `SITE`, or `SITE:7` for an access port of VLAN 7. */
const SegmentNic = Type.Object({ macAddress: Type.String(), segment: Type.String() })

/** A whole machine that an operator gives to a host. */
export const NewNode = Type.Object({
  name: Name,
  /** Of the NIC that it boots from the network with. */
  macAddress: Type.String(),
  usesEfi: Type.Boolean(),
  /** Beside the one that it boots with; absent: none is known. */
  nics: Type.Optional(Type.Array(SegmentNic)),
  /** Absent: named after what inspection finds. */
  resourceClass: Type.Optional(Type.String()),
  traits: Type.Optional(Type.Array(Type.String())),
  /** Absent: people switch the machine. */
  bmc: Type.Optional(
    Type.Object({
      address: Type.String({ minLength: 1 }),
      port: Port,
      user: Type.String(),
      password: Type.String(),
      privilege: OneOf(['operator', 'administrator']),
      cipherSuite: Type.Optional(Type.Union([Type.Literal(3), Type.Literal(17)])),
    }),
  ),
})
export type NewNode = Static<typeof NewNode>

/** A machine as its host shows it, without the BMC's password. */
export const NodeView = Type.Object({
  name: Name,
  macAddress: Type.String(),
  usesEfi: Type.Boolean(),
  /** Absent from hosts of an earlier release. */
  nics: Type.Optional(Type.Array(SegmentNic)),
  bmc: Nullable(Type.Object({ address: Type.String(), port: Port, user: Type.String() })),
  state: Type.String(),
  /** Why the last work on it failed; null when it did not. */
  failure: Nullable(Type.String()),
  maintenance: Nullable(Type.String()),
  serverId: Nullable(Uuid),
  isOn: Type.Boolean(),
  /** Null until it has been inspected, unless an operator named it. */
  resourceClass: Nullable(Type.String()),
  traits: Type.Array(Type.String()),
  /** What inspection found; null before. */
  parts: Nullable(
    Type.Object({
      cpus: Type.Integer(),
      cpuModel: Type.String(),
      architecture: Type.String(),
      memoryMb: Type.Integer(),
      disks: Type.Array(Type.Object({ name: Type.String(), sizeBytes: Type.Integer() })),
      macAddresses: Type.Array(Type.String()),
    }),
  ),
})
export type NodeView = Static<typeof NodeView>

const SensorReading = Type.Object({
  name: Type.String(),
  unit: Nullable(Type.String()),
  /** Null while it measures nothing. */
  value: Nullable(Type.Number()),
})

const OneNode = Type.Object({ name: Name })

/**
 * Subjects below `cell.<cell>.host.<host>.`, beside those of consoles: which machines a host has concerns it alone. A
 * host that keeps no machines answers `unsupported`.
 */
export const NODE_OPERATIONS = {
  'node-list': { ask: Type.Object({}), answer: Type.Object({ nodes: Type.Array(NodeView) }) },
  'node-add': { ask: NewNode, answer: NodeView },
  'node-inspect': { ask: OneNode, answer: NodeView },
  /** Null: it may be given to servers again. */
  'node-maintain': {
    ask: Type.Object({ name: Name, reason: Nullable(Type.String()) }),
    answer: NodeView,
  },
  'node-remove': { ask: OneNode, answer: Type.Object({}) },
  'node-sensors': {
    ask: OneNode,
    answer: Type.Object({ sensors: Type.Array(SensorReading) }),
  },
} as const
export type NodeOperation = keyof typeof NODE_OPERATIONS
