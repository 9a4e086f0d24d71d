import { consoleActionHandlers } from './console-actions.ts'
import { createRemoteConsole } from './create-remote-console.ts'
import { showConsoleToken } from './show-console-token.ts'

export const consoleHandlers = {
  createRemoteConsole,
  showConsoleToken,
  ...consoleActionHandlers,
}
