import { Failure } from '#common/errors.ts'
import type { Operator } from '../operator.ts'
import { present, type ViewOptions } from '../output/present.ts'
import { decisionText } from './decision-text.ts'

/** The properties of a server that is not created. */
export interface PlacementOptions extends ViewOptions {
  readonly flavor?: string
  readonly image?: string
  readonly zone?: string
  readonly host?: string
  readonly network?: readonly string[]
  readonly project?: string
  /** As a user would name it in the hint `policy`. */
  readonly policy?: string
}

/** Shows the host that the scheduler would choose for such a server now, and the reasons; nothing is built. */
export async function explainPlacement(
  operator: Operator,
  options: PlacementOptions,
): Promise<void> {
  const { flavor, image, zone, host, network, project, policy } = options
  if (flavor === undefined || image === undefined)
    throw new Failure(
      'invalid',
      'Name a server, or the properties of a new one: ./weir why --flavor m1.tiny --image tiny',
    )
  await present(operator, options, async ({ federation }) => {
    const placement = await federation.ask('post', '/v1/placements', {
      body: {
        flavor,
        image,
        ...(zone === undefined ? {} : { zone }),
        ...(host === undefined ? {} : { host }),
        ...(network === undefined ? {} : { networks: network }),
        ...(project === undefined ? {} : { project }),
        ...(policy === undefined ? {} : { hints: { policy } }),
      },
    })
    const { cell, host: found, decisions } = placement
    const outcome =
      found === null
        ? 'No host has room for such a server now.'
        : `The server would be placed on host ${found} in cell ${cell} now.`
    return {
      data: placement,
      names: found === null ? [] : [found],
      text: (isWide, style) =>
        [
          `${style(found === null ? 'error' : 'success', outcome)}\n`,
          ...decisions.map((decision) => decisionText(decision, isWide, style)),
        ].join('\n'),
    }
  })
}
