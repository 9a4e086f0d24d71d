import type { Screen } from '../operator.ts'
import { bar } from './bar.ts'

const REWRITE = '\r\u001b[K'

/** How far something has got: one line that is rewritten on a terminal, elsewhere a line per change. */
export class Progress {
  readonly #screen: Screen
  #shown = ''

  constructor(screen: Screen) {
    this.#screen = screen
  }

  show(what: string, done: number, total: number): void {
    const text = `${bar(done, total)}  ${what}`
    if (text === this.#shown) return
    this.#shown = text
    this.#screen.write(this.#screen.isTTY === true ? REWRITE + text : `${what}\n`)
  }

  /** Afterwards the next output begins on a line of its own. */
  end(): void {
    if (this.#screen.isTTY === true && this.#shown !== '') this.#screen.write('\n')
  }
}
