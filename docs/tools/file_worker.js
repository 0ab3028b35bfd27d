// A page that was opened as a file may start no Worker, and the search runs in one: here an iframe does its work.
class FileWorker extends EventTarget {
  constructor(address) {
    super()
    this.frame = document.createElement("iframe")
    this.frame.hidden = true
    document.body.appendChild(this.frame)
    const inside = this.frame.contentWindow
    addEventListener("message", event => {
      if (event.source !== inside) return
      const said = new MessageEvent("message", {data: event.data})
      this.dispatchEvent(said)
      this.onmessage?.(said)
    })
    const start = `
      postMessage = said => parent.postMessage(said, "*")
      importScripts = (...all) => all.reduce((before, each) => before.then(() => new Promise(done => {
        const script = document.createElement("script")
        script.src = each
        script.onload = done
        document.body.appendChild(script)
      })), Promise.resolve())`
    inside.document.open()
    inside.document.write(`<body><script>${start}</` + `script><script src="${address}"></` + "script></body>")
    inside.document.close()
    this.ready = new Promise(done => { inside.onload = done })
  }

  async postMessage(said) {
    await this.ready
    this.frame.contentWindow.dispatchEvent(new MessageEvent("message", {data: structuredClone(said)}))
  }

  terminate() {
    this.frame.remove()
  }
}

window.IFrameWorker = FileWorker // What runs inside looks for this name, to know where it is.
if (location.protocol === "file:") window.Worker = FileWorker
