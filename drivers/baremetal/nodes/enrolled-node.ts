import { isDeepStrictEqual } from 'node:util'
import { type Static, Type } from 'typebox'
import type { Secrets } from '#common/secrets.ts'
import { checked } from '#openapi/wire/checked.ts'
import type { BmcSettings } from '../../ipmi/bmc-settings.ts'
import type { NewNode } from '../../nodes.ts'

const EnrolledBmc = Type.Object(
  {
    address: Type.String({ minLength: 1 }),
    port: Type.Integer({ minimum: 1, maximum: 65_535, default: 623 }),
    user: Type.String(),
    /** Sealed by `sealedPassword`. */
    password: Type.String(),
    privilege: Type.Union([Type.Literal('operator'), Type.Literal('administrator')]),
    cipherSuite: Type.Optional(Type.Union([Type.Literal(3), Type.Literal(17)])),
  },
  { additionalProperties: false },
)

const MacAddress = Type.String({ pattern: '^[0-9a-f]{2}(:[0-9a-f]{2}){5}$' })
/** A physical network, and the VLAN of an access port there. */
const Segment = Type.String({ pattern: '^[^:,\\s]{1,64}(:[1-9][0-9]{0,3})?$' })

/** A machine that an operator has given to a host. */
export const EnrolledNode = Type.Object(
  {
    name: Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$' }),
    /** Machines of one class stand in for each other; absent: named after what inspection finds. */
    resourceClass: Type.Optional(Type.String({ pattern: '^CUSTOM_[A-Z0-9_]{1,240}$' })),
    traits: Type.Optional(Type.Array(Type.String({ pattern: '^CUSTOM_[A-Z0-9_]{1,240}$' }))),
    /** Of the NIC that it boots from the network with. */
    macAddress: MacAddress,
    usesEfi: Type.Boolean(),
    /** NICs for servers' ports, and where their cables end; absent: none is known. */
    nics: Type.Optional(
      Type.Array(Type.Object({ macAddress: MacAddress, segment: Segment }), { maxItems: 64 }),
    ),
    /** Absent: people switch the machine and set where it boots from. */
    bmc: Type.Optional(EnrolledBmc),
    /** Why the node takes no server; absent: it may take one. */
    maintenance: Type.Optional(Type.String()),
  },
  { additionalProperties: false },
)
export type EnrolledNode = Static<typeof EnrolledNode>

const NodesFile = Type.Object({ nodes: Type.Array(EnrolledNode) }, { additionalProperties: false })

/** The nodes that a file's text names. Throws `invalid` for one that is not as it should be, or named twice. */
export function enrolledNodes(text: string): readonly EnrolledNode[] {
  const { nodes } = checked(NodesFile, JSON.parse(text), 'The file of nodes')
  const unique = (what: 'name' | 'macAddress') => new Set(nodes.map((node) => node[what])).size
  if (unique('name') < nodes.length || unique('macAddress') < nodes.length)
    throw new Error('Two nodes in the file of nodes have the same name or MAC address')
  return nodes
}

/** Of all NICs that are known of the node. */
export function macAddressesOf({ macAddress, nics = [] }: EnrolledNode): readonly string[] {
  return [macAddress, ...nics.map((nic) => nic.macAddress)]
}

/** The node in the form of the file of nodes, with its password sealed for that node alone. Throws `invalid`. */
export function enrolledNode(added: NewNode, secrets: Secrets): EnrolledNode {
  const { bmc, ...rest } = added
  const password = secrets.seal(bmc?.password ?? '', purposeOf(added.name))
  const node = bmc === undefined ? rest : { ...rest, bmc: { ...bmc, password } }
  return checked(EnrolledNode, structuredClone(node), 'The node')
}

/** True when it is the same machine, enrolled in the same way. */
export function isSameNode(
  { maintenance: _why, ...enrolled }: EnrolledNode,
  added: NewNode,
  secrets: Secrets,
): boolean {
  const settings = bmcSettings(enrolled, secrets)
  const { bmc: _sealed, ...rest } = enrolled
  return isDeepStrictEqual(settings === undefined ? rest : { ...rest, bmc: settings }, added)
}

/**
 * The address and login of the node's BMC; undefined when it has none. Throws when the password was sealed with another
 * key.
 */
export function bmcSettings(
  { name, bmc }: EnrolledNode,
  secrets: Secrets,
): BmcSettings | undefined {
  if (bmc === undefined) return undefined
  const { cipherSuite, ...rest } = bmc
  const password = secrets.open(bmc.password, purposeOf(name))
  return { ...rest, password, ...(cipherSuite === undefined ? {} : { cipherSuite }) }
}

function purposeOf(node: string): string {
  return `BMC of ${node}`
}
