import type { Operator } from '../operator.ts'
import { present, type ViewOptions } from '../output/present.ts'
import { decisionText } from '../servers/decision-text.ts'

/** Shows where a volume is and why: every decision, with what was refused and how the rest scored. */
export async function explainVolume(
  operator: Operator,
  volume: string,
  options: ViewOptions,
): Promise<void> {
  await present(operator, options, async ({ federation }) => {
    const path = { volume }
    const trace = await federation.ask('get', '/v1/volumes/{volume}/trace', { path })
    const { status, cell, store, fault, decisions } = trace
    const places = [
      ...(cell === null ? [] : [`in cell ${cell}`]),
      ...(store === null ? [] : [`in store ${store}`]),
    ]
    return {
      data: trace,
      names: [store ?? cell ?? '-'],
      text: (isWide, style) =>
        [
          `Volume ${volume} is ${status} ${places.join(' ') || 'in no cell'}.\n`,
          ...(fault === null ? [] : [`${style('error', fault)}\n`]),
          ...decisions.map((decision) => decisionText(decision, isWide, style)),
        ].join('\n'),
    }
  })
}
