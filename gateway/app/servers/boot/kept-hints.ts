import type { SchedulerHints } from './asked-for.ts'

/** Nova's own prefix, which users cannot use. */
const RESERVED = '_nova'

/** The hints as Nova keeps and shows them: every value is text, in a list. */
export function keptHints(asked: Readonly<Record<string, unknown>>): SchedulerHints {
  const kept = Object.entries(asked).filter(([name]) => !name.startsWith(RESERVED))
  return Object.fromEntries(
    kept.map(([name, value]) => [name, (Array.isArray(value) ? value : [value]).map(textOf)]),
  )
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
