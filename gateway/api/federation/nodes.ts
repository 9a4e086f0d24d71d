import type { operations } from '#openapi/federation.gen.ts'
import type { NewNode, NodeView } from '#openapi/wire/node.ts'
import { addNode as add, askNodes, findNode } from '../../app/nodes.ts'
import type { Handler } from '../../http/operation.ts'

/** POST /v1/hosts/{host}/nodes */
export const addNode: Handler<operations['addNode']> = async ({ app, context, params, body }) => {
  const node = await add(app.compute, context, params.host, newNode(body))
  return { body: nodeView(params.host, node) }
}

/** POST /v1/hosts/{host}/nodes/{node}/inspect */
export const inspectNode: Handler<operations['inspectNode']> = async (call) => {
  const { app, context, params } = call
  const ask = { name: params.node }
  const node = await askNodes(app.compute, context, params.host, 'node-inspect', ask)
  return { body: nodeView(params.host, node) }
}

/** GET /v1/hosts/{host}/nodes/{node}/sensors */
export const listNodeSensors: Handler<operations['listNodeSensors']> = async (call) => {
  const { app, context, params } = call
  const ask = { name: params.node }
  return { body: await askNodes(app.compute, context, params.host, 'node-sensors', ask) }
}

/** GET /v1/hosts/{host}/nodes */
export const listNodes: Handler<operations['listNodes']> = async ({ app, context, params }) => {
  const { nodes } = await askNodes(app.compute, context, params.host, 'node-list', {})
  return { body: { nodes: nodes.map((node) => nodeView(params.host, node)) } }
}

/** DELETE /v1/hosts/{host}/nodes/{node} */
export const removeNode: Handler<operations['removeNode']> = async ({ app, context, params }) => {
  await askNodes(app.compute, context, params.host, 'node-remove', { name: params.node })
  return {}
}

/** GET /v1/hosts/{host}/nodes/{node} */
export const showNode: Handler<operations['showNode']> = async ({ app, context, params }) => {
  const node = await findNode(app.compute, context, params.host, params.node)
  return { body: nodeView(params.host, node) }
}

/** PATCH /v1/hosts/{host}/nodes/{node} */
export const updateNode: Handler<operations['updateNode']> = async (call) => {
  const { app, context, params, body } = call
  const ask = { name: params.node, reason: body.maintenance }
  const node = await askNodes(app.compute, context, params.host, 'node-maintain', ask)
  return { body: nodeView(params.host, node) }
}

type Body = operations['addNode']['requestBody']['content']['application/json']

const IPMI_PORT = 623

/** What a client says of a machine, in the words of the wire. */
function newNode(body: Body): NewNode {
  const { name, mac_address, uses_efi = false, nics, resource_class, traits, bmc } = body
  return {
    name,
    macAddress: mac_address,
    usesEfi: uses_efi,
    ...(nics === undefined ? {} : { nics: nics.map(newNic) }),
    ...(resource_class === undefined ? {} : { resourceClass: resource_class }),
    ...(traits === undefined ? {} : { traits: [...traits] }),
    ...(bmc === undefined ? {} : { bmc: newBmc(bmc) }),
  }
}

function newNic({ mac_address: macAddress, segment }: NonNullable<Body['nics']>[number]) {
  return { macAddress, segment }
}

function newBmc(bmc: NonNullable<Body['bmc']>): NonNullable<NewNode['bmc']> {
  const { address, port = IPMI_PORT, user, password, privilege = 'administrator' } = bmc
  const { cipher_suite } = bmc
  const suite = cipher_suite === undefined ? {} : { cipherSuite: cipher_suite }
  return { address, port, user, password, privilege, ...suite }
}

/** A machine of a host as the federation API shows it. */
function nodeView(hostId: string, node: NodeView) {
  const { name, macAddress, usesEfi, nics = [], bmc, state, failure, maintenance } = node
  return {
    name,
    host_id: hostId,
    mac_address: macAddress,
    uses_efi: usesEfi,
    nics: nics.map((nic) => ({ mac_address: nic.macAddress, segment: nic.segment })),
    bmc,
    state,
    failure,
    maintenance,
    server_id: node.serverId,
    is_on: node.isOn,
    resource_class: node.resourceClass,
    traits: node.traits,
    parts: node.parts && partsView(node.parts),
  }
}

function partsView(parts: NonNullable<NodeView['parts']>) {
  const { cpus, cpuModel, architecture, memoryMb, disks, macAddresses } = parts
  return {
    cpus,
    cpu_model: cpuModel,
    architecture,
    memory_mb: memoryMb,
    disks: disks.map(({ name, sizeBytes }) => ({ name, size_bytes: sizeBytes })),
    mac_addresses: macAddresses,
  }
}
