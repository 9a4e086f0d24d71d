import { type Static, Type } from 'typebox'

const Text = Type.Union([Type.String(), Type.Null()])
const Amount = Type.Union([Type.Integer(), Type.String(), Type.Null()])

/** Whose server has a node, in the node's `extra.weir`: ironic forgets `instance_uuid` before the node is clean. */
export const Stamp = Type.Object({
  cell: Type.String(),
  host: Type.String(),
  instance: Type.String(),
})
export type Stamp = Static<typeof Stamp>

/** The fields of a node that the driver reads (ironic api-ref, "Nodes"). */
export const IronicNode = Type.Object({
  uuid: Type.String(),
  resource_class: Text,
  traits: Type.Optional(Type.Array(Type.String())),
  properties: Type.Object({
    cpus: Type.Optional(Amount),
    memory_mb: Type.Optional(Amount),
    local_gb: Type.Optional(Amount),
    cpu_arch: Type.Optional(Text),
  }),
  /** How it is deployed; `ramdisk` writes no disk. */
  deploy_interface: Text,
  provision_state: Text,
  target_provision_state: Text,
  power_state: Text,
  target_power_state: Text,
  maintenance: Type.Boolean(),
  reservation: Text,
  instance_uuid: Text,
  last_error: Text,
  extra: Type.Object({ weir: Type.Optional(Stamp) }),
})
export type IronicNode = Static<typeof IronicNode>

/** The fields are requested by name, because a whole node is large. */
export const FIELDS = Object.keys(IronicNode.properties).join(',')

/** True while ironic is bringing the node to another state; one that failed stays where it is. */
export function isUnderWay({ provision_state, target_provision_state }: IronicNode): boolean {
  const state = provision_state ?? ''
  return target_provision_state !== null && !state.endsWith('failed') && state !== 'error'
}

/** Placement's name for it, made as Nova makes it. */
export function classOf({ resource_class }: IronicNode): string | undefined {
  if (resource_class === null) return undefined
  return `CUSTOM_${resource_class.toUpperCase().replace(/[^A-Z0-9]+/g, '_')}`
}

/** True for a node that no server has and that could be given one. */
export function isFree(node: IronicNode): boolean {
  const { provision_state, maintenance, instance_uuid, extra } = node
  const isTaken = maintenance || instance_uuid !== null || extra.weir !== undefined
  return provision_state === 'available' && !isTaken && node.resource_class !== null
}
