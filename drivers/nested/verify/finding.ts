import { isFailure } from '#common/errors.ts'

/** The result of one check of a cloud. A `failed` one means that no server can be built there. */
export interface Finding {
  readonly check: string
  readonly result: 'ok' | 'warning' | 'failed'
  readonly detail: string
}

/** The finding of `look`, under its name; a failure that it throws is the finding, in full: only operators read it. */
export async function finding(
  check: string,
  run: () => Promise<string | Omit<Finding, 'check'>>,
): Promise<Finding> {
  try {
    const found = await run()
    return typeof found === 'string' ? { check, result: 'ok', detail: found } : { check, ...found }
  } catch (error) {
    if (!isFailure(error)) throw error
    const detail = [error.message, error.detail].filter((part) => part !== undefined).join(' ')
    return { check, result: 'failed', detail }
  }
}

export function warning(detail: string): Omit<Finding, 'check'> {
  return { result: 'warning', detail }
}

export function failed(detail: string): Omit<Finding, 'check'> {
  return { result: 'failed', detail }
}
