const CELLS = 10
const FULL = '█'
const EMPTY = '░'

/** How much of something is used: `█████░░░░░  50%`. */
export function bar(used: number, total: number): string {
  const part = total <= 0 ? 0 : Math.min(1, Math.max(0, used / total))
  const filled = Math.round(part * CELLS)
  return `${FULL.repeat(filled)}${EMPTY.repeat(CELLS - filled)} ${String(Math.round(part * 100)).padStart(3)}%`
}
