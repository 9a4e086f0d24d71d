import type { operations } from '#openapi/federation.gen.ts'
import type { NewNode } from '#openapi/wire/node.ts'

type Body = operations['addNode']['requestBody']['content']['application/json']

const IPMI_PORT = 623

/** What a client says of a machine, in the words of the wire. */
export function newNode(body: Body): NewNode {
  const { name, mac_address, uses_efi = false, resource_class, traits, bmc } = body
  return {
    name,
    macAddress: mac_address,
    usesEfi: uses_efi,
    ...(resource_class === undefined ? {} : { resourceClass: resource_class }),
    ...(traits === undefined ? {} : { traits: [...traits] }),
    ...(bmc === undefined ? {} : { bmc: newBmc(bmc) }),
  }
}

function newBmc(bmc: NonNullable<Body['bmc']>): NonNullable<NewNode['bmc']> {
  const { address, port = IPMI_PORT, user, password, privilege = 'administrator' } = bmc
  const { cipher_suite } = bmc
  const suite = cipher_suite === undefined ? {} : { cipherSuite: cipher_suite }
  return { address, port, user, password, privilege, ...suite }
}
