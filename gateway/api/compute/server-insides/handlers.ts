import { clearServerPassword } from './clear-server-password.ts'
import { showServerDiagnostics } from './show-server-diagnostics.ts'
import { showServerPassword } from './show-server-password.ts'
import { showServerTopology } from './show-server-topology.ts'

/** What is told of the inside of a guest. */
export const serverInsideHandlers = {
  clearServerPassword,
  showServerDiagnostics,
  showServerPassword,
  showServerTopology,
}
