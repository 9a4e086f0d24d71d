import { setTimeout as sleep } from 'node:timers/promises'
import type { CloudOptions } from '../cloud/cloud-config.ts'
import { keepSession } from '../cloud/kept-session.ts'
import type { Session } from '../cloud/session.ts'
import type { Operator } from '../operator.ts'
import type { Format } from './format.ts'
import { styleFor } from './style.ts'
import { rendered, type View } from './view.ts'

/** The options of every command that shows something. */
export interface ViewOptions extends CloudOptions {
  readonly output: Format
  /** Look again and again. */
  readonly watch?: true
  /** Seconds between two looks. */
  readonly every?: number
}

const MS_PER_S = 1_000
const HOME_AND_CLEAR = '\u001b[H\u001b[2J'

/**
 * Shows the result of `read`. With `watch` it continues until it is interrupted: a terminal is redrawn, other outputs
 * get each changed result, JSON on one line each.
 */
export async function present(
  operator: Operator,
  options: ViewOptions,
  read: (session: Session) => Promise<View>,
): Promise<void> {
  const within = await keepSession(operator, options)
  const { out } = operator
  const { watch = false, every = 1 } = options
  if (!watch) {
    out.write(await textOf(operator, options, await within(read)))
    return
  }
  for (let shown: string | undefined; ; await sleep(every * MS_PER_S)) {
    const text = await textOf(operator, options, await within(read))
    if (out.isTTY === true) out.write(HOME_AND_CLEAR + text)
    else if (text !== shown) out.write(text)
    shown = text
  }
}

function textOf({ out, env }: Operator, options: ViewOptions, view: View): Promise<string> {
  const { output, watch } = options
  if (watch === true && output === 'json') return Promise.resolve(`${JSON.stringify(view.data)}\n`)
  return rendered(view, output, styleFor(out, env))
}
