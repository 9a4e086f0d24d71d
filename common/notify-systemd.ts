import { spawn } from 'node:child_process'
import type { Env } from './env.ts'
import { errorFields, type Logger } from './log.ts'

const US_PER_MS = 1_000

/**
 * Tells systemd, if it has started this process as a service of type `notify`, that the process serves, and from then on
 * that it is well, twice in the time after which systemd would restart it, until disposed. A process that hangs tells nothing. Node has
 * no sockets of the kind that systemd listens on, so `systemd-notify` sends it.
 */
export function notifySystemd(env: Env, log: Logger): Disposable {
  const stack = new DisposableStack()
  if (env['NOTIFY_SOCKET'] === undefined) return stack
  notify('READY=1', env, log)
  const watchdogMs = Number(env['WATCHDOG_USEC'] ?? 0) / US_PER_MS
  if (watchdogMs > 0) {
    const timer = setInterval(() => notify('WATCHDOG=1', env, log), watchdogMs / 2).unref()
    stack.defer(() => clearInterval(timer))
  }
  return stack
}

function notify(what: string, { PATH, NOTIFY_SOCKET }: Env, log: Logger): void {
  const child = spawn('systemd-notify', [what], { stdio: 'ignore', env: { PATH, NOTIFY_SOCKET } })
  child.once('error', (error) => log.error(errorFields(error), 'systemd was not notified'))
  child.unref()
}
