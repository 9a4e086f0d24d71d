import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Failure } from '#common/errors.ts'
import type { operations } from '#openapi/federation.gen.ts'
import type { Operator } from '../operator.ts'
import { present } from '../output/present.ts'
import { fieldsView } from '../output/view.ts'
import { hostNames, machineHosts, type NodeOptions } from './machine-hosts.ts'
import { nodeListing } from './node-listing.ts'

type Body = operations['addNode']['requestBody']['content']['application/json']

export interface NewNodeOptions extends NodeOptions {
  readonly mac: string
  readonly efi?: true
  /** `MAC=SEGMENT` each. */
  readonly nic?: readonly string[]
  readonly class?: string
  readonly trait?: readonly string[]
  readonly bmc?: string
  readonly bmcUser?: string
  readonly bmcPasswordFile?: string
  readonly bmcOperator?: true
}

/** Afterwards a host has the machine and makes it ready for servers. */
export async function addNode(
  operator: Operator,
  name: string,
  options: NewNodeOptions,
): Promise<void> {
  const bmc = await newBmc(operator, options)
  const { mac, efi, nic, class: resource_class, trait: traits } = options
  const body: Body = {
    name,
    mac_address: mac,
    uses_efi: efi === true,
    ...(nic === undefined ? {} : { nics: nic.map(newNic) }),
    ...(resource_class === undefined ? {} : { resource_class }),
    ...(traits === undefined ? {} : { traits: [...traits] }),
    ...(bmc === undefined ? {} : { bmc }),
  }
  await present(operator, options, async (session) => {
    const [host, ...others] = await machineHosts(session, options)
    if (host === undefined || others.length > 0)
      throw new Failure('conflict', 'Several hosts manage machines. Add --host.')
    const path = { host: host.id }
    const node = await session.federation.ask('post', '/v1/hosts/{host}/nodes', { path, body })
    return fieldsView(node, nodeListing(hostNames([host])))
  })
}

/** Of `52:54:00:12:34:57=SITE:7`. */
function newNic(text: string): NonNullable<Body['nics']>[number] {
  const [mac_address = '', segment = '', ...rest] = text.split('=')
  if (mac_address !== '' && segment !== '' && rest.length === 0) return { mac_address, segment }
  throw new Failure(
    'invalid',
    `NIC ${text} does not name its network. Write MAC=NETWORK, or MAC=NETWORK:VLAN for an access port of a VLAN.`,
  )
}

async function newBmc(
  operator: Operator,
  { bmc, bmcUser: user, bmcPasswordFile, bmcOperator }: NewNodeOptions,
): Promise<Body['bmc']> {
  if (bmc === undefined) return undefined
  if (user === undefined) throw new Failure('invalid', 'Name the BMC user: --bmc-user NAME.')
  const { address, port } = bmcAddress(bmc)
  const password = await bmcPassword(operator, bmcPasswordFile)
  const privilege = bmcOperator === true ? 'operator' : 'administrator'
  return { address, port, user, password, privilege }
}

const IPMI_PORT = 623

/** `192.0.2.7`, `bmc.example:6230`, `[2001:db8::7]:623`, or an IPv6 address alone. */
function bmcAddress(text: string): { readonly address: string; readonly port: number } {
  const [, bracketed, plain, port] = /^(?:\[(.+)\]|([^:]+))(?::(\d{1,5}))?$/.exec(text) ?? []
  return { address: bracketed ?? plain ?? text, port: Number(port ?? IPMI_PORT) }
}

const PASSWORD_VARIABLE = 'WEIR_BMC_PASSWORD'

/**
 * The password of a BMC: from the file named, else from the environment, else as it is typed or comes in at standard
 * input. Never from the command line, which everybody on the machine can read.
 */
export async function bmcPassword(operator: Operator, file: string | undefined): Promise<string> {
  if (file !== undefined)
    return (await readFile(resolve(operator.directory, file), 'utf8')).replace(/\r?\n$/, '')
  return operator.env[PASSWORD_VARIABLE] ?? operator.secret('Password of the BMC: ')
}
