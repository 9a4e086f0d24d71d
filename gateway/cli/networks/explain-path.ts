import { Failure } from '#common/errors.ts'
import type { components, operations } from '#openapi/federation.gen.ts'
import type { AnswerOf } from '../cloud/service-client.ts'
import type { Operator } from '../operator.ts'
import { present, type ViewOptions } from '../output/present.ts'
import { fieldsView, type Listing, listView, viewWithParts } from '../output/view.ts'

type PathEnd = components['schemas']['PathEnd']
type PathCheck = components['schemas']['PathCheck']
type NetworkPath = AnswerOf<operations['explainNetworkPath']>

export interface PathOptions extends ViewOptions {
  readonly protocol?: string
  readonly port?: string
}

const PORT_MAX = 65_535

const PATH: Listing<NetworkPath> = {
  plural: 'paths',
  nameOf: ({ from, to }) => `${from.address} ${to.address}`,
  columns: [
    { head: 'FROM', of: ({ from }) => endText(from) },
    { head: 'TO', of: ({ to }) => endText(to) },
    {
      head: 'REACHES',
      of: ({ reaches }) => (reaches ? 'yes' : 'no'),
      emphasis: ({ reaches }) => (reaches ? 'success' : 'error'),
    },
    { head: 'TRACE', of: ({ ovn_trace }) => ovn_trace, isWide: true },
  ],
}

const CHECKS: Listing<PathCheck> = {
  plural: 'checks',
  nameOf: ({ name }) => name,
  columns: [
    { head: 'CHECK', of: ({ name }) => name },
    {
      head: 'HOLDS',
      of: ({ holds }) => (holds ? 'yes' : 'no'),
      emphasis: ({ holds }) => (holds ? 'success' : 'error'),
    },
    { head: 'REASON', of: ({ reason }) => reason },
  ],
}

/** Shows whether packets from one address reach another, and what stops them. */
export async function explainPath(
  operator: Operator,
  from: string,
  to: string,
  { protocol, port, ...options }: PathOptions,
): Promise<void> {
  const number = port === undefined ? undefined : portNumber(port)
  await present(operator, options, async ({ federation }) => {
    const query = {
      ...{ from, to },
      ...(protocol !== undefined && { protocol }),
      ...(number !== undefined && { port: number }),
    }
    const path = await federation.ask('get', '/v1/network-path', { query })
    const checks = { heading: 'CHECKS', view: listView(path.checks, CHECKS) }
    return viewWithParts(fieldsView(path, PATH), [checks], path)
  })
}

function portNumber(text: string): number {
  const port = Number(text)
  if (Number.isInteger(port) && port >= 1 && port <= PORT_MAX) return port
  throw new Failure('invalid', `--port ${text} is no port. Give a number from 1 to ${PORT_MAX}.`)
}

function endText({ address, fixed_address: fixed, network, host }: PathEnd): string {
  if (network === null) return `${address} (outside)`
  const where = host === null || host === '' ? '' : `, host ${host}`
  return `${address} (${fixed === address ? '' : `${fixed}, `}network ${network}${where})`
}
