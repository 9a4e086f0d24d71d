import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { Failure } from '#common/errors.ts'

const OUTPUT_MAX_BYTES = 16 * 1024 * 1024
const DETAIL_CHARS = 4_000

export interface ToolOptions {
  readonly limitMs: number
  readonly directory?: string
  /** Beside the variables of this process. */
  readonly env?: Readonly<Record<string, string>>
}

/** The program ended well; its output is returned. Throws `unavailable` with the end of what it wrote. */
export async function runTool(
  command: string,
  args: readonly string[],
  options: ToolOptions,
): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(command, [...args], {
      cwd: options.directory,
      timeout: options.limitMs,
      maxBuffer: OUTPUT_MAX_BYTES,
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C.UTF-8', ...options.env },
    })
    return stdout
  } catch (cause) {
    const { stderr, message } = cause as Error & { stderr?: string }
    const output = (stderr ?? '').trim().slice(-DETAIL_CHARS)
    throw new Failure('unavailable', `${command} ${args.join(' ')} failed: ${output || message}`, {
      cause,
    })
  }
}
