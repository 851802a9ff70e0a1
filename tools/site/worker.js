// A page opened from a folder may not start a worker. An iframe replaces it, so that search works without
// a server.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      const inside = (this.inside = frame.contentWindow);
      this.terminate = () => frame.remove();
      this.ready = new Promise((done) => {
        inside.postMessageOut = (data) => {
          const event = new MessageEvent("message", { data });
          this.dispatchEvent(event);
          if (this.onmessage) this.onmessage(event);
        };
        inside.document.open();
        inside.document.write(
          "<script>postMessage = (data) => postMessageOut(data);" +
            "importScripts = (...urls) => urls.reduce((before, src) => before.then(() => new Promise((done) => {" +
            "const script = document.createElement('script'); script.src = src; script.onload = done;" +
            "document.body.appendChild(script); })), Promise.resolve());<\/script><body><script src='" + url + "'><\/script>",
        );
        inside.document.close();
        inside.onload = done;
      });
    }
    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
}
