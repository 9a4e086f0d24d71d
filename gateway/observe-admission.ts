import { Gauge, type Registry } from 'prom-client'
import { type Admission, WORK_KINDS } from './app/admission.ts'

/** Afterwards the metrics have how many requests of each kind are handled, and how many wait for their turn. */
export function observeAdmission(registry: Registry, admission: Admission): void {
  const observe = (state: 'running' | 'waiting', name: string, help: string) =>
    new Gauge({
      name,
      help,
      labelNames: ['kind'],
      registers: [registry],
      collect() {
        for (const kind of WORK_KINDS) this.set({ kind }, admission.count(kind)[state])
      },
    })
  observe('running', 'weir_requests_in_progress', 'Requests that have had their turn')
  observe('waiting', 'weir_requests_waiting', 'Requests that wait for the turn of their project')
}
